// Whole cells against servers that are real processes. The scripted server replays the documented
// wire formats of vLLM and SGLang.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"
#include "workers/server/session.hpp"
#include "workers/tools/doctor.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::check_times;
using support::figure;
using support::note;
using support::ServerWorld;

namespace {

std::vector<nlohmann::json> lines_in(const std::string& path) {
  std::vector<nlohmann::json> bodies;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) bodies.push_back(nlohmann::json::parse(line));
  return bodies;
}

/// Whether a prompt that the server was sent has tokens that it generates.
bool sent_back(const std::string& bodies) {
  for (const auto& body : lines_in(bodies)) {
    const auto prompt = body.at("prompt").get<std::vector<int>>();
    if (std::ranges::search(prompt, std::array{100, 101, 102})) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a cell against a replay of vLLM records every turn, what was cached, and its metrics") {
  ServerWorld world;
  world.scripted("vllm", "--requests " + world.file("bodies"));
  const sweep::CellResult cell = world.run();
  CHECK(cell.jobs.rows() == 2);
  CHECK(cell.turns.rows() == 16);
  CHECK(cell.steps.rows() == 0);
  check_times(cell);
  CHECK(figure(cell, "prefix_hit_rate") > 0.3);
  CHECK(std::isnan(figure(cell, "host_hit_rate")));
  CHECK(cell.telemetry.rows() >= 2);
  CHECK(cell.telemetry.values<double>("kv_used_pct").front() == 25);
  CHECK(figure(cell, "preemptions") == 0);
  CHECK(note(cell, "server") == "vllm 0.30.0");
  const auto bodies = lines_in(world.file("bodies"));
  const auto& turn = bodies.back();
  CHECK(turn.at("ignore_eos") == true);
  CHECK(turn.at("min_tokens") == turn.at("max_tokens"));
  CHECK(turn.at("prompt").is_array());
  CHECK(turn.at("model") == "m");
}

TEST_CASE("counters that the load cannot have caused are left out, with a note") {
  ServerWorld world;
  const sweep::CellResult cell = world.scripted("vllm", "--fault counters").run();
  CHECK(std::isnan(figure(cell, "preemptions")));
  CHECK(std::isnan(figure(cell, "forwards")));
  CHECK_THAT(note(cell, "server_metrics"), Contains("forwards 1e+30, preemptions -2"));
}

TEST_CASE("a think time begins when the last token has come") {
  ServerWorld world;
  world.scripted("openai").put("workload.gap_s", 0.05);
  const sweep::CellResult cell = world.run();
  const auto &job = cell.turns.values<std::int32_t>("job"),
             &turn = cell.turns.values<std::int32_t>("turn");
  const auto &arrive = cell.turns.values<double>("t_arrive_s"),
             &finish = cell.turns.values<double>("t_finish_s");
  std::map<std::pair<int, int>, double> ends;
  for (std::size_t i = 0; i < job.size(); ++i) ends[{job[i], turn[i]}] = finish[i];
  for (std::size_t i = 0; i < job.size(); ++i)
    if (turn[i] > 0) CHECK(arrive[i] == Approx(ends[{job[i], turn[i] - 1}] + 0.05));
}

TEST_CASE(
    "what a server does not report is not observed: an OpenAI server says nothing of caches") {
  ServerWorld world;
  world.scripted("openai");
  const sweep::CellResult cell = world.run();
  CHECK(cell.turns.rows() == 16);
  CHECK(std::isnan(figure(cell, "prefix_hit_rate")));
  CHECK(std::isnan(figure(cell, "running_peak")));
  CHECK(cell.telemetry.rows() == 0);
  CHECK_THAT(note(cell, "server_metrics"), Contains("none"));
  CHECK_THAT(note(cell, "server_version"), Contains("reports none"));
}

TEST_CASE("a cell against a replay of SGLang splits hits by where they were") {
  ServerWorld world;
  const sweep::CellResult cell = world.scripted("sglang").run();
  CHECK(cell.turns.rows() == 16);
  check_times(cell);
  CHECK(figure(cell, "prefix_hit_rate") > 0.3);
  CHECK(figure(cell, "host_hit_rate") == 0);
  CHECK(note(cell, "server_pool") == "4096 tokens");
}

TEST_CASE("with generated chains the next prompt holds what the server generated") {
  ServerWorld world;
  world.scripted("vllm", "--requests " + world.file("bodies")).set("server.chain", "generated");
  const double generated = figure(world.run(), "prefix_hit_rate");
  CHECK(sent_back(world.file("bodies")));
  CHECK(generated > 0);
}

TEST_CASE("prompts of a trace hold what the server generated where they hold the recorded answer") {
  for (const bool holds_it : {true, false}) {
    ServerWorld world;
    std::ofstream(world.file("t.jsonl"))
        << R"({"kvsweep_trace": 1, "converter": "test", "counts": {"jobs": 1, "turns": 2, "prompt_tokens": )"
        << (holds_it ? 130 : 110)
        << R"(, "answer_tokens": 29, "arrivals": 0, "gaps": 0, "starts": 0}}
{"job": "a", "turns": [{"prompt": [[1, 40]], "answer": [[null, 20]]}, )"
        << R"({"extends": )" << (holds_it ? "0" : "[0, 40]")
        << R"(, "prompt": [[2, 30]], "answer": [[null, 9]]}]})";
    world.scripted("vllm", "--requests " + world.file("bodies")).set("server.chain", "generated");
    world.drop("workload.").set("workload.kind", "trace");
    world.set("workload.path", world.file("t.jsonl"));
    CHECK(world.run().turns.rows() == 2);
    CHECK(sent_back(world.file("bodies")) == holds_it);
  }
}

TEST_CASE("a subagent's turns have the number of their job") {
  ServerWorld world;
  std::ofstream(world.file("t.jsonl"))
      << R"({"kvsweep_trace": 1, "converter": "test", "counts": {"jobs": 2, "turns": 4, "prompt_tokens": 80, "answer_tokens": 8, "arrivals": 2, "gaps": 0, "starts": 0}}
{"job": "a", "arrival_s": 0, "turns": [{"prompt": [[1, 20]], "answer": [[null, 2]]}, )"
      << R"({"extends": 0, "prompt": [], "answer": [[null, 2]]}, )"
      << R"({"after": [0], "agent": "search", "prompt": [[3, 18]], "answer": [[null, 2]]}]}
{"job": "b", "arrival_s": 0, "turns": [{"prompt": [[2, 20]], "answer": [[null, 2]]}]})";
  world.scripted("vllm", "--scheduling-policy priority --requests " + world.file("bodies"));
  world.set("server.request.priority", "{job.index}")
      .set("server.request.vllm_xargs.job_id", "{job.id}");
  world.drop("workload.").set("workload.kind", "trace");
  world.set("workload.path", world.file("t.jsonl"));
  world.run();
  std::map<std::string, int> places;
  for (const auto& body : lines_in(world.file("bodies")))
    places[body.at("vllm_xargs").at("job_id")] = body.at("priority");
  CHECK(places.at("a/search") == places.at("a"));
  CHECK(places.at("b") != places.at("a"));
}

TEST_CASE("vLLM is told the recorded tokens, and a cell whose answers hold others fails") {
  const std::string words = "--logits-processors kvsweep_forced:ForcedTokens ";
  ServerWorld world;
  world.scripted("vllm", words + "--requests " + world.file("bodies"));
  world.set("server.chain", "forced").set("server.request.vllm_xargs.job_id", "{job.id}");
  CHECK(figure(world.run(), "chain_replaced_tok") == 0);
  const auto turn = lines_in(world.file("bodies")).back();
  std::istringstream ids(turn.at("vllm_xargs").at("kvsweep_forced").get<std::string>());
  const std::vector<int> demanded{std::istream_iterator<int>(ids), {}};
  CHECK(std::ssize(demanded) == turn.at("max_tokens").get<int>());
  CHECK(turn.at("vllm_xargs").contains("job_id"));
  CHECK_THAT(world.scripted("vllm", words + "--fault unforced").failure(),
             StartsWith("server.chain \"forced\": the server generated token 100, and "));
}

TEST_CASE("fields of server.request reach the body of every turn with the turn's values") {
  ServerWorld world;
  world.scripted("vllm", "--requests " + world.file("bodies"));
  world.set("server.request.vllm_xargs.job_id", "{job.id}")
      .set("server.request.is_last_step", "{turn.last}")
      .set("server.request.name", "turn {turn.index} of {engine.max_num_seqs}")
      .put("server.request.top_k", std::int64_t{3})
      .set("server.request.n_seqs", "{engine.max_num_seqs}")
      .set("server.request.gib", "{dram_gib:mib}")
      .put("dram_gib", 0.5)
      .put("engine.max_num_seqs", std::int64_t{7});
  world.run();
  int last = 0;
  for (const auto& body : lines_in(world.file("bodies"))) {
    CHECK(body.at("top_k") == 3);
    CHECK(body.at("n_seqs") == 7);  // a number: the text is one placeholder
    CHECK(body.at("gib") == 512);
    CHECK(body.at("vllm_xargs").at("job_id").is_string());
    CHECK_THAT(body.at("name").get<std::string>(), StartsWith("turn "));
    const std::string id = body.at("vllm_xargs").at("job_id");
    if (!id.starts_with("kvsweep-probe") && body.at("is_last_step").get<bool>()) ++last;
  }
  CHECK(last == 2);
}

TEST_CASE("jobs are numbered in order of arrival, by integers that probes have as well") {
  ServerWorld world;
  world.scripted("vllm", "--scheduling-policy priority --requests " + world.file("bodies"));
  world.set("server.request.priority", "{job.index}")
      .set("server.request.vllm_xargs.job_id", "{job.id}");
  const sweep::Table jobs = world.run().jobs;
  const auto& ids = jobs.values<std::string>("id");
  REQUIRE(ids.size() == 2);
  REQUIRE(jobs.values<double>("t_arrive_s")[0] < jobs.values<double>("t_arrive_s")[1]);
  const std::map<std::string, int> numbers{{ids[0], 0}, {ids[1], 1}};
  std::set<std::string> seen;
  for (const auto& body : lines_in(world.file("bodies"))) {
    REQUIRE(body.at("priority").is_number_integer());
    const std::string id = body.at("vllm_xargs").at("job_id");
    if (!id.starts_with("kvsweep-probe")) seen.insert(id);
    CHECK(body.at("priority") == (numbers.contains(id) ? numbers.at(id) : 0));
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("a server is used again when its caches can be emptied, and restarted when they cannot") {
  ServerWorld world;
  world.scripted("vllm");
  const double first = figure(world.run(), "prefix_hit_rate");
  const double again = figure(world.run(), "prefix_hit_rate");
  CHECK(first == Approx(again));  // nothing of the first cell was found
  CHECK(world.starts() == 1);
  world.scripted("vllm", "--fault reset");  // answers 200, and keeps its caches
  CHECK(figure(world.run(), "prefix_hit_rate") == Approx(first));
  CHECK(figure(world.run(), "prefix_hit_rate") == Approx(first));
  CHECK(world.starts() == 3);
}

TEST_CASE("how caches are emptied is the cell's own") {
  ServerWorld world;
  world.scripted("vllm").run();
  world.set("server.reset", "restart");
  world.run();
  CHECK(world.starts() == 2);
  world.set("server.reset", "none");
  world.run();
  CHECK(world.starts() == 2);
}

TEST_CASE("a server that runs already is emptied before its first cell, or not measured") {
  ServerWorld fresh, used;
  const double alone = figure(fresh.scripted("vllm").run(), "prefix_hit_rate");
  for (const char* fault : {"", "--fault reset"}) {
    const server::Session session(used.scripted("vllm", fault).config(),
                                  {.log = used.log(), .devices = {}});
    ServerWorld world;
    world.scripted("vllm").set("server.command", "").set("server.url", session.url());
    world.set("server.reset", "none");
    CHECK(figure(world.run(), "prefix_hit_rate") == Approx(alone));
    CHECK(figure(world.run(), "prefix_hit_rate") > alone);
    world.forget_servers();
    world.set("server.reset", "auto");
    if (std::string(fault).empty())
      CHECK(figure(world.run(), "prefix_hit_rate") == Approx(alone));
    else
      CHECK_THAT(world.failure(),
                 Contains("cannot be emptied before a cell: start it with VLLM_SERVER"));
  }
}

TEST_CASE("doctor says how the caches of a server are emptied") {
  const auto said = [](const std::string& words, const std::string& reset) {
    ServerWorld world;
    world.scripted("vllm", words).set("server.reset", reset);
    for (const worker::DoctorRow& row : worker::examine_server(world.config(), world.log()))
      if (row.check == "caches") return row.text;
    return std::string("nothing");
  };
  CHECK(said("", "auto") == "can be emptied, by a probe");
  CHECK(said("--fault reset", "auto") == "cannot be emptied: it is restarted before each cell");
  CHECK(said("", "restart") == "emptied by a restart before each cell (server.reset)");
  CHECK(said("", "none") == "left as they are between cells (server.reset)");
}
