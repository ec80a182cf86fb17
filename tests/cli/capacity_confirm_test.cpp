// kvsweep capacity --confirm: the answers of a search on another backend.
#include "tests/cli/capacities.hpp"

using Catch::Matchers::Contains;
using support::csv_rows, support::kAgents, support::Outcome, support::Program, support::search;

TEST_CASE("a capacity is confirmed on another backend alone, which is known before the search") {
  const Program program;
  program.write("agents.toml", kAgents);
  std::map<std::string, std::string> complaints = {{"sim", "--confirm must be "},
                                                   {"gpu", "--confirm must be "},
                                                   {"server", "the key \"server."}};
  const std::string built = program.run({"--version"}).out;
  if (built.find("CUDA none") != built.npos) complaints["cuda"] = "built without CUDA";
  for (const auto& [backend, complaint] : complaints) {
    const Outcome found = search(program, {"--confirm", backend});
    CHECK(found.exit_code == 2);
    CHECK_THAT(found.err, Contains(complaint));
    CHECK_FALSE((program.exists("a.h5") || program.exists("a.capacity.toml")));
  }
}

TEST_CASE("another backend confirms a capacity beside the modelled one") {
  const Program program;
  std::string text = kAgents;
  text.replace(text.find("gpu = ["), 19, "gpu = [\"h100-80gb\"]\nmodel = [\"tiny-llama-3\"]");
  text.replace(text.find("\"fcfs\", \"cpu_offload\""), 21, "\"fcfs\"");
  text.replace(text.find("dram_gib = [8]\n"), 15, "");
  program.write("agents.toml", text + R"([weights]
seed = 1
)");
  const auto confirm = [&](std::vector<std::string> more) {
    more.insert(more.end(),
                {"--confirm", "cpu", "--most", "2", "--set", "workload.max_context=4096", "--set",
                 "workload.jobs=3", "--set", "workload.gap_s=0.01"});
    return search(program, more);
  };
  const Outcome small = confirm({"--budget", "8"});
  CHECK(small.exit_code == 75);
  CHECK_THAT(small.err, Contains("the budget of 8 cells leaves the answers unconfirmed: with them "
                                 "the search needs 9; the same command with a larger --budget"));
  CHECK_THAT(small.out, Contains("at least 2; raise --most"));
  CHECK_FALSE(program.exists("a.confirm.h5"));
  const Outcome found = confirm({"--budget", "9"});
  INFO(found.err << found.out);
  CHECK(found.exit_code == 0);
  CHECK_FALSE(program.exists("a.confirm.h5.asked"));
  CHECK_THAT(program.run({"status", "a.confirm.h5"}).out, Contains("3/3 done, 0 running, 0 left"));
  CHECK_THAT(found.out, Contains("MODELLED") && Contains("MEASURED"));
  const auto csv = csv_rows(confirm({"--format", "csv"}).out);
  REQUIRE(csv.size() == 2);  // a row for each limit
  CHECK(csv[0].at("metric") == "ttft_p90");
  CHECK(csv[0].at("limit") == "0.4");
  CHECK(csv[0].at("load_agents") == "2");
  CHECK(csv[0].at("confirmed_on") == "MEASURED (cpu)");
  CHECK(std::stod(csv[0].at("searched")) < std::stod(csv[0].at("confirmed")));
}
