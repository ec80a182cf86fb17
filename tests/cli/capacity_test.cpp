#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/capacities.hpp"

using Catch::Matchers::Contains;
using support::csv_rows, support::kAgents, support::Outcome, support::Program, support::rows_of,
    support::search;

namespace {

std::string with(const std::string& replaced, const std::string& by) {
  std::string text = kAgents;
  return text.replace(text.find(replaced), replaced.size(), by);
}

const std::string kLoad = "\"workload.live\" = [1, 12]", kSeeds = "\"workload.seed\" = [1, 2, 3]";

/// Makes the report of a.h5. Returns the charts and tables of its page.
std::string report_data(const Program& program) {
  REQUIRE(program.run({"report", "a.h5", "-o", "report"}).exit_code == 0);
  return program.page("report");
}

/// With linear interpolation.
double p90(std::vector<double> values) {
  std::ranges::sort(values);
  const double place = 0.9 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double next = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (place - static_cast<double>(below)) * (next - values[below]);
}

/// By policy: the mean over the seeds of the largest load below the first that misses, from the
/// turns and jobs of every cell.
std::map<std::string, double> largest_loads(const Program& program, const std::string& archive,
                                            double most_ttft, double most_first) {
  std::map<int, std::vector<double>> ttft, first;
  for (const auto& row : rows_of(program, archive, "turns"))
    ttft[row.at("cell")].push_back(row.at("ttft_s"));
  for (const auto& row : rows_of(program, archive, "jobs"))
    first[row.at("cell")].push_back(row.at("t_first_token_s").get<double>() -
                                    row.at("t_arrive_s").get<double>());
  std::map<std::pair<std::string, int>, std::set<int>> missed;
  for (const auto& row : rows_of(program, archive, "cells")) {
    std::set<int>& loads = missed[{row.at("policy"), row.at("workload.seed")}];
    const int cell = row.at("cell");
    if (p90(ttft[cell]) > most_ttft || p90(first[cell]) > most_first)
      loads.insert(row.at("workload.live").get<int>());
  }
  std::map<std::string, double> largest;
  for (const auto& [place, loads] : missed)
    largest[place.first] += (loads.empty() ? 12 : *loads.begin() - 1) / 3.0;
  return largest;
}

/// Of whole.h5 and parts.h5.
void expect_same(const Program& program, const Outcome& whole, const Outcome& parts) {
  const auto table = [](const std::string& text) { return text.substr(0, text.find("Results: ")); };
  CHECK(table(parts.out) == table(whole.out));
  CHECK(program.run({"check", "--equal", "whole.h5", "parts.h5"}).exit_code == 0);
  CHECK(program.read("parts.capacity.toml") == program.read("whole.capacity.toml"));
}

}  // namespace

TEST_CASE("capacity finds the largest load within limits, and says what binds and what it costs") {
  const Program program;
  program.write("agents.toml", kAgents);
  const Outcome found = search(program, {"--price", "h100-80gb=2.5"});
  INFO(found.err << found.out);
  REQUIRE(found.exit_code == 0);
  CHECK_THAT(found.out, Contains("agents per GPU") && Contains("ttft_p90 <= 0.4 s") &&
                            Contains("$ per million tokens") && Contains("(3 of 3)") &&
                            Contains(" cells were run, of 72 that every load and seed"));
  CHECK_THAT(found.err, Contains("kvsweep: capacity: round 1, 0 of 2 rows decided, 6 cells"));

  SECTION("again, it has everything already, and the archive is a finished sweep") {
    const std::string before = program.read("a.h5");
    const Outcome again = search(program, {"--price", "h100-80gb=2.5"});
    CHECK(again.out == found.out);
    CHECK(again.err.empty());
    CHECK(program.read("a.h5") == before);
    CHECK_THAT(program.run({"status", "a.h5"}).out, Contains(" 0 left, 0 failed"));
  }
  SECTION("as CSV it is one table of numbers, with units in the names of columns") {
    const auto csv = csv_rows(search(program, {"--price", "h100-80gb=2.5", "--format", "csv"}).out);
    REQUIRE(csv.size() == 2);
    const std::set<std::string> texts = {"gpu",      "policy", "slo", "verdict",
                                         "at_least", "binds",  "unit"};
    for (const auto& row : csv)
      for (const auto& [name, field] : row) {
        INFO(name << ": " << field);
        if (!field.empty() && !texts.contains(name)) CHECK_NOTHROW(std::stod(field));
      }
    CHECK(csv[0].at("policy") == "fcfs");
    CHECK(csv[0].at("dram_gib").empty());
    CHECK(csv[0].at("capacity_agents") == "8");
    CHECK(csv[0].at("at_least") == "no");
    CHECK((csv[0].at("binds") == "ttft_p90" && csv[0].at("limit") == "0.4"));
    CHECK(std::stod(csv[1].at("capacity_agents_low95")) < 31.0 / 3);
    CHECK(std::stod(csv[1].at("ratio_to_fcfs")) > 1.2);
    for (const char* name : {"usd_per_million_tok", "watts_j_per_tok", "agents_per_mw"})
      CHECK(std::stod(csv[0].at(name)) > 0);
    CHECK(csv[0].count("measured_j_per_tok") == 0);
  }
  SECTION("its report begins with the capacities and the front") {
    const std::string data = report_data(program);
    CHECK_THAT(program.page("report"), Contains("Capacity within limits") && Contains("ttft_p90"));
    CHECK_THAT(data,
               Contains("Capacity: agents per GPU") && Contains("\"figure\":\"front\"") &&
                   Contains("P90 interactivity [tokens/s; 9 of 10 turns are at least as fast]") &&
                   Contains("Most: cpu_offload, 8 GiB, with 10.33 agents; the next load breaks "
                            "ttft_p90: 0.4474 s at 11.33 (3 of 3). ") &&
                   Contains("\"mark\":\"square\""));
  }
  SECTION("every load and seed says the same") {
    program.write("grid.toml", with(kLoad, "\"workload.live\" = [1,2,3,4,5,6,7,8,9,10,11,12]"));
    REQUIRE(program.run({"run", "grid.toml", "--archive", "g.h5"}).exit_code == 0);
    const std::map<std::string, double> largest = largest_loads(program, "g.h5", 0.4, 10);
    CHECK(largest.at("fcfs") == Approx(8));
    CHECK(largest.at("cpu_offload") == Approx(31.0 / 3));
    const std::vector<std::string> lines = support::lines_of(found.out);
    CHECK_THAT(lines[2], Contains(" fcfs ") && Contains(" 8 ("));
    CHECK_THAT(lines[3], Contains(" cpu_offload ") && Contains(" 10.33 ("));
  }
}

TEST_CASE("the search is within one load of a grid of all loads and seeds, in every row") {
  const Program program;
  const std::string policies = "\"fcfs\", \"cpu_offload\"";
  const auto of_all = [&](std::string text) {
    return text.replace(text.find(policies), policies.size(),
                        policies + ", \"job_fcfs\", \"working_set\", \"job_fcfs_offload\"");
  };
  program.write("agents.toml", of_all(kAgents) + R"([capacity.slo]
strict = "ttft_p90=0.2,first_token_p90=2"
middle = "ttft_p90=0.4,first_token_p90=10"
loose = "ttft_p90=2,first_token_p90=30"
)");
  program.write("grid.toml",
                of_all(with(kLoad, "\"workload.live\" = [1,2,3,4,5,6,7,8,9,10,11,12]")));
  REQUIRE(program.run({"run", "grid.toml", "--archive", "g.h5"}).exit_code == 0);
  const Outcome found =
      program.run({"capacity", "agents.toml", "--archive", "a.h5", "--format", "csv"});
  REQUIRE(found.exit_code == 0);
  const std::map<std::string, std::map<std::string, double>> by_all = {
      {"strict", largest_loads(program, "g.h5", 0.2, 2)},
      {"middle", largest_loads(program, "g.h5", 0.4, 10)},
      {"loose", largest_loads(program, "g.h5", 2, 30)}};
  const auto rows = csv_rows(found.out);
  CHECK(rows.size() == 15);
  int equal = 0;
  for (const auto& row : rows) {
    CAPTURE(row.at("slo"), row.at("policy"));
    const double searched = std::stod(row.at("capacity_agents"));
    const double all = by_all.at(row.at("slo")).at(row.at("policy"));
    CHECK(std::abs(searched - all) < 1.01);
    equal += searched == Approx(all);
  }
  CHECK(equal >= 14);
}

TEST_CASE("a capacity that is killed anywhere goes on to the same archive and answer") {
  const Program program;
  program.write("agents.toml", kAgents);
  const Outcome whole = search(program, {}, "whole.h5");
  REQUIRE(whole.exit_code == 0);
  // Of two runs one is killed after it has stored a cell.
  program.write("launch.sh", R"(
if [ -e killed ]; then rm killed; exec "$@"; fi
touch killed
"$@" --workers 1 & run=$!
while kill -0 $run 2>/dev/null && ! ls parts.h5.d/*.h5 >/dev/null 2>&1; do :; done
kill -KILL $run 2>/dev/null
wait $run
)");
  Outcome ended{-1, "", ""};
  int killed = 0;
  for (; killed < 40 && ended.exit_code != 0; ++killed)
    ended = search(program, {"--launch", "sh launch.sh"}, "parts.h5");
  CHECK(killed > 1);  // the last one ended
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  expect_same(program, whole, ended);
}

TEST_CASE("a capacity whose driver is killed after each round goes on to the same answer") {
  const Program program;
  program.write("agents.toml", kAgents);
  const Outcome whole = search(program, {}, "whole.h5");
  program.write("launch.sh", "\"$@\" && kill -KILL $PPID\n");
  int rounds = 0;
  Outcome ended{-1, "", ""};
  for (; rounds < 40 && ended.exit_code != 0; ++rounds) {
    ended = search(program, {"--launch", "sh launch.sh"}, "parts.h5");
    CHECK((ended.exit_code == 0 || ended.exit_code == 128 + SIGKILL));
  }
  CHECK(rounds > 3);
  expect_same(program, whole, ended);
}

TEST_CASE("limits that no load meets, or that all meet, are said with their numbers") {
  const Program program;
  program.write("agents.toml", kAgents);
  const Outcome none = search(program, {"--slo", "ttft_p90=0.001"});
  CHECK(none.exit_code == 0);
  CHECK_THAT(none.out, Contains("even one agent misses ttft_p90: 0."));
  const Outcome all = search(program, {"--slo", "ttft_p90=1000", "--most", "3"});
  CHECK(all.exit_code == 0);
  CHECK_THAT(all.out, Contains("at least 3; raise --most"));
  const std::string data = report_data(program);
  CHECK_THAT(data, Contains("\"no host memory, at least\"") && Contains("\"mark\":\"right\""));
}

TEST_CASE("a budget that is too small to decide says so, and a larger one goes on") {
  const Program program;
  program.write("agents.toml", kAgents);
  const Outcome small = search(program, {"--budget", "10"});
  CHECK(small.exit_code == 75);
  CHECK_THAT(small.err, Contains("the budget of 10 cells leaves 2 of 2 rows undecided: the next "
                                 "round needs 12; the same command with a larger --budget"));
  CHECK_THAT(small.out, Contains("undecided") && Contains(": 6 cells were run, of 72 that"));
  CHECK_THAT(program.run({"status", "a.h5"}).out,
             Contains("capacity: round 1, 0 of 2 rows decided, 6 cells asked for"));
  CHECK(search(program).exit_code == 0);
}

TEST_CASE("a search that cannot be for a capacity is refused, with its place") {
  const Program program;
  const auto complaint = [&](const std::string& text, std::vector<std::string> more = {}) {
    program.write("agents.toml", text);
    const Outcome refused = search(program, std::move(more));
    CHECK(refused.exit_code == 2);
    CHECK_FALSE((program.exists("a.h5") || program.exists("a.capacity.toml")));
    return refused.err;
  };
  CHECK_THAT(complaint(with(kLoad, "\"engine.block_size\" = [16, 32]")),
             Contains("agents.toml: capacity needs a load on the axes, workload.live or jps"));
  CHECK_THAT(complaint(with(kLoad, "jps = [1, 2]\n" + kLoad)),
             Contains("needs one load on the axes, found workload.live (agents.toml:10:") &&
                 Contains(" and jps"));
  CHECK_THAT(complaint(with(kLoad, "\"workload.live\" = [1]")),
             Contains("the most to try must be a whole number above the least, 1") &&
                 Contains("or give --most"));
  CHECK_THAT(complaint(kAgents, {"--most", "1"}), Contains("--most: the most to try must be"));
  CHECK_THAT(complaint(kAgents, {"--most", "40"}),
             Contains("agents.toml:16:1: 40 agents of 16 jobs are never live together: raise "
                      "workload.jobs or lower --most"));
  CHECK_THAT(complaint(kAgents, {"--set", "workload.jobs=11"}),
             Contains("kvsweep: --set: 12 agents of 11 jobs are never live together"));
  CHECK_THAT(complaint(with("jobs = 16\n", ""), {"--most", "101"}),
             Contains("kvsweep: 101 agents of 100 jobs are never live together"));
  CHECK_THAT(complaint("capacity = { step = 0.5 }\n" + kAgents),
             Contains("agents.toml:1:14: capacity adds [capacity.search] to the sweep, which "
                      "cannot have it inline, in braces"));
  CHECK_THAT(complaint("include = [{ \"workload.live\" = 3, gpu = \"h100-80gb\", policy = "
                       "\"fcfs\", \"workload.seed\" = 1 }]\n" +
                       kAgents),
             Contains("agents.toml:1:12: capacity adds [[include]] to the sweep"));
  CHECK_THAT(complaint(kAgents, {"--slo", "jobs=3"}), Contains("--slo: jobs has no direction"));
  CHECK_THAT(complaint(kAgents, {"--slo", "ttf_p90=3"}), Contains("(did you mean \"ttft_p90\"?)"));
  CHECK_THAT(complaint(kAgents, {"--slo", "ttft=3"}),
             Contains("--slo: an SLO has no metric ttft (did you"));
  CHECK_THAT(complaint(with(kSeeds, "\"workload.seed\" = [1, 2]")),
             Contains("agents.toml:10:") && Contains("needs three seeds or more"));
  CHECK_THAT(complaint(with(kSeeds + "\n", "")), Contains("[1, 2, 3] on the axes: they do not"));
  CHECK_THAT(complaint(with(kLoad + "\n" + kSeeds, "jps = [1, 2]")),
             Contains("needs three seeds or more for an interval, [repeat] n = 5, found n = 1"));
  CHECK_THAT(complaint(kAgents, {"--price", "h100=3"}),
             Contains("price_per_hour of h100, which is no"));
  CHECK_THAT(complaint(kAgents, {"--price", "3"}), Contains("--price GPU=USD: expected"));
  CHECK_THAT(complaint(kAgents, {"--watts", "h100-80gb=much"}),
             Contains("--watts GPU=W: capacity.watts.h100-80gb must be a number, found "));
  CHECK_THAT(complaint(kAgents, {"--budget", "0"}), Contains("--budget must be at least 1 cell"));
  CHECK_THAT(complaint(kAgents, {"--slo", "ttft_p90=2,ttft_p90_s=3"}),
             Contains("--slo: ttft_p90 has two limits"));
  CHECK_THAT(
      complaint(kAgents + "[capacity]\nprice_per_hour = 3\n"),
      Contains("agents.toml:21:") && Contains("capacity.price_per_hour must name the GPU, as "
                                              "price_per_hour.\"h100-80gb\" = 3"));
  CHECK_THAT(complaint(with("gap_s = 2.0", "gap_s = -2.0")), Contains("agents.toml:17:"));
  CHECK_THAT(complaint(with("jobs = 16", "jobs = 16\nn = 3")), Contains("agents.toml:17:"));
  CHECK_THAT(complaint(kAgents + "[capacity]\nsteps = 0.1\n"),
             Contains("unknown key \"capacity.steps\" (did you mean \"capacity.step\"?)"));
  CHECK_THAT(complaint(kAgents + "[[include]]\n\"workload.live\" = 3\ngpu = \"h100-80gb\"\n"
                                 "policy = \"fcfs\"\n\"workload.gap_s\" = 3.0\n"),
             Contains("searches no [[include]] that sets workload.gap_s; make it an axis"));
  program.write("agents.toml", kAgents);
  const Outcome lacks = program.run({"capacity", "agents.toml", "--archive", "a.h5"});
  CHECK(lacks.exit_code == 2);
  CHECK_THAT(lacks.err, Contains("capacity needs --slo, as ttft_p90=2,tpot_p90=0.05"));
}

TEST_CASE("several objectives share their cells, and jobs per second are a load, too") {
  const Program program;
  std::string text = with(kLoad + "\n" + kSeeds, "jps = [0.1, 4.0]");
  text.replace(text.find("arrivals = \"live\"\n"), 18, "");
  text.replace(text.find("[\"h100-80gb\"]"), 13, "[\"h100-80gb\", \"l40s-48gb\"]");
  program.write("agents.toml", text + R"([repeat]
n = 3
[capacity]
step = 0.5
price_per_hour."h100-80gb" = 4.0
price_per_hour."l40s-48gb" = 2.0
[capacity.slo]
strict = "ttft_p90=0.4"
loose = "ttft_p90=2"
)");
  const Outcome tiers = program.run({"capacity", "agents.toml", "--archive", "a.h5"});
  INFO(tiers.err);
  CHECK(tiers.exit_code == 0);
  CHECK_THAT(tiers.out, Contains("strict  h100-80gb") && Contains("loose   h100-80gb") &&
                            Contains("jobs/s per GPU"));
  const std::string data = report_data(program);
  CHECK_THAT(data, Contains("\"figure\":\"front-dollar\"") &&
                       Contains("\"figure\":\"front-joule\"") &&
                       Contains("output tokens a joule by watts"));
}

TEST_CASE("any archive with three loads shows the front") {
  const Program program;
  std::string text = support::kTinySweep;
  program.write("tiny.toml", text.replace(text.find("jps = [3]"), 9, "jps = [1, 3, 9]"));
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const std::string data = report_data(program);
  CHECK_THAT(data, Contains("\"figure\":\"front\",\"study\":\"interactivity\"") &&
                       !Contains("\"title\":\"Capacity: "));
}

TEST_CASE("points of the front are means over the seeds that all loads have") {
  const Program program;
  std::string text = support::kTinySweep;
  program.write("tiny.toml", text.replace(text.find("jps = [3]"), 9, "jps = [1, 3, 9]"));
  const auto points = [&](const std::string& only) {
    REQUIRE(program
                .run({"run", "tiny.toml", "--set", "repeat.n=5", "--only", only, "--only",
                      "repeat=0,1,2", "--archive", "a.h5", "--fresh", "--no-prev"})
                .exit_code == 0);
    const std::string data = report_data(program);
    CHECK_THAT(data, Contains("in means over the 3 seeds that all loads have"));
    const std::size_t front = data.find("\"figure\":\"front\"");
    const std::size_t series = data.find("\"series\"", front);
    return data.substr(series, data.find("]", series) - series);
  };
  CHECK(points("repeat=0,1,2") == points("jps=1"));  // which adds two seeds of one load
}

TEST_CASE("loads with other seeds after the first three leave the front its points") {
  const Program program;
  std::string text = support::kTinySweep;
  program.write("tiny.toml", text.replace(text.find("jps = [3]"), 9, "jps = [1, 3, 9]"));
  const auto note = [&](const std::vector<std::string>& only, const std::string& says) {
    std::vector<std::string> words = {"run", "tiny.toml", "--set", "repeat.n=6"};
    for (const std::string& each : only) words.insert(words.end(), {"--only", each});
    words.insert(words.end(), {"--archive", "a.h5", "--fresh", "--no-prev"});
    REQUIRE(program.run(words).exit_code == 0);
    const std::string data = report_data(program);
    CHECK_THAT(data, Contains("in means over the " + says + " that all loads have"));
    CHECK_THAT(data, !Contains("No cell has a result."));
  };
  note({"jps=1,repeat=0,1,2", "jps=3,repeat=0,1,2,3", "jps=9,repeat=3,4,5"}, "3 seeds");
  note({"repeat=0"}, "1 seed");
}

TEST_CASE("a row whose cells fail ends with exit code 3") {
  const Program program;
  program.write("agents.toml", kAgents + support::kFailing);
  program.write("fail", "");
  const Outcome found = search(program, {});
  INFO(found.err << found.out);
  CHECK(found.exit_code == 3);
  CHECK_THAT(found.out, Contains("failed"));
}

TEST_CASE("a launcher that is not there is wrong input") {
  const Program program;
  program.write("agents.toml", kAgents);
  program.write("words", "not a program");
  for (const std::string launch : {"nosuch -n 8", "./nosuch", "./words", "/ -n 8", ""}) {
    const Outcome found = search(program, {"--launch", launch});
    CHECK(found.exit_code == 2);
    CHECK_THAT(found.err, Contains("--launch: there is no program \"" +
                                   launch.substr(0, launch.find(' ')) + "\""));
    CHECK_FALSE((program.exists("a.h5.asked") || program.exists("a.capacity.toml") ||
                 program.exists("a.capacity.log")));
  }
}

TEST_CASE("a launcher that finds no program leaves no file, and what it printed is shown") {
  const Program program;
  program.write("agents.toml", kAgents);
  const Outcome found = search(program, {"--launch", "env A=1 nosuch"});
  CHECK(found.exit_code == 127);
  CHECK_THAT(found.err, Contains("nosuch") && Contains("failed before it wrote a result") &&
                            Contains("the same command begins again"));
  CHECK(program.names_in("") == std::vector<std::string>{"agents.toml", "tiny.toml"});
}

TEST_CASE("what a run says of the sweep names the user's lines") {
  const Program program;
  program.write("agents.toml", kAgents + "[server]\nkind = \"vllm\"\n");
  const Outcome found = search(program, {"--most", "2"});
  CHECK(found.exit_code == 0);
  CHECK_THAT(found.err, Contains("agents.toml:21:1: ") && !Contains("a.capacity.toml:"));
}
