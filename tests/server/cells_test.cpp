// Whole cells against servers that are real processes. The scripted server replays the documented
// wire formats of vLLM and SGLang; llama-server is the real one, where it can be had.
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stop_token>
#include <thread>

#include "tests/server/processes.hpp"
#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"
#include "workers/server/session.hpp"
#include "workers/server/streams.hpp"
#include "workers/tools/doctor.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::figure;
using support::note;
using support::ServerWorld;

namespace {

struct Fault {
  const char *words, *complaint;
};

std::vector<nlohmann::json> lines_in(const std::string& path) {
  std::vector<nlohmann::json> bodies;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) bodies.push_back(nlohmann::json::parse(line));
  return bodies;
}

/// In every row the times are in the order of events.
void check_times(const sweep::CellResult& cell) {
  const sweep::Table& turns = cell.turns;
  const auto &arrive = turns.values<double>("t_arrive_s"), &late = turns.values<double>("late_s"),
             &first = turns.values<double>("t_first_token_s"),
             &finish = turns.values<double>("t_finish_s");
  for (std::size_t i = 0; i < turns.rows(); ++i) {
    CHECK(late[i] >= 0);
    CHECK(arrive[i] + late[i] < first[i]);
    CHECK(first[i] <= finish[i]);
  }
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
  bool found = false;
  for (const auto& body : lines_in(world.file("bodies"))) {
    const auto prompt = body.at("prompt").get<std::vector<int>>();
    for (std::size_t i = 0; i + 3 < prompt.size(); ++i)
      found |= prompt[i] == 100 && prompt[i + 1] == 101 && prompt[i + 2] == 102;
  }
  CHECK(found);
  CHECK(generated > 0);
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
  world.run();
  std::map<std::string, int> numbers;
  for (const auto& body : lines_in(world.file("bodies"))) {
    REQUIRE(body.at("priority").is_number_integer());
    const std::string id = body.at("vllm_xargs").at("job_id");
    const int number = id.starts_with("kvsweep-probe") ? 0 : static_cast<int>(numbers.size());
    if (!id.starts_with("kvsweep-probe")) numbers.try_emplace(id, number);
    CHECK(body.at("priority") == (numbers.contains(id) ? numbers.at(id) : 0));
  }
  CHECK(numbers.size() == 2);
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

TEST_CASE("every fault of a server fails its cell with what happened, and the next cell runs") {
  const Fault faults[] = {
      {"--fault 400 --after 3", "HTTP 400: {\"error\": {\"message\": \"maximum context length"},
      {"--fault 503 --after 3", "HTTP 503: {\"error\": {\"message\": \"queue is full"},
      {"--fault stop --after 3", "the stream stopped after 3 of"},
      {"--fault cut --after 3", " bytes, without the [DONE] that closes it: "},
      {"--fault open --after 3", " bytes, without the [DONE] that closes it; the end of "},
      {"--fault truncated --after 3", "it counts 64 tokens of a prompt of which "},
      {"--fault cached --after 3", " cached tokens of a prompt of "},
      {"--fault gzip --after 3", "it is compressed (Content-Encoding: gzip), which was not asked"},
      {"--fault deep --after 3", "an event of its stream is JSON of more than 256 levels"},
      {"--fault endless-headers --after 3", "its headers are longer than 256 KiB"},
      {"--fault endless-error --after 3", "HTTP 500: EEEE"},
      {"--fault tokens --after 3", "it sends more tokens than the "},
      {"--fault line --after 3", "an event of its stream is longer than 16 MiB"},
      {"--fault error --after 3", "engine is dead"},
      {"--fault garbage --after 3", "an event of its stream is no JSON object: <html>"},
      {"--fault short --after 3", "were asked for"},
      {"--fault die --after 3", "the server ended: it ended with exit code 9; the end of"},
      {"--fault late", "the server ended: it ended with exit code 4; the end of"},
      {"--model other", "the server is for another model: it serves other, not m"},
      {"--version 0.31.0", "server.version is \"0.30.0\", but the server reports \"0.31.0\""},
      {"--fault metrics", "page /metrics lacks vllm:kv_cache_usage_perc"},
  };
  ServerWorld world;
  for (const Fault& fault : faults) {
    INFO(fault.words);
    const std::string failure = world.scripted("vllm", fault.words).failure();
    CHECK_THAT(failure, Contains(fault.complaint));
  }
  CHECK_THAT(world.scripted("vllm", "--fault cut --after 3").failure(),
             StartsWith("turn ") && Contains(": the stream stopped after 3 of "));
  CHECK_THAT(world.scripted("vllm", "--fault cut --after -1").failure(),
             Contains("/v1/completions: turn 1 of job kvsweep-probe-6: the stream stopped after "));
  CHECK_THAT(world.scripted("vllm", "--fault die --after 3").failure(),
             Contains("CUDA error: out of memory"));
  CHECK(world.scripted("vllm").failure() == "ok");
}

TEST_CASE("a server that hangs fails its cell when nothing has been received for a while") {
  ServerWorld world;
  world.scripted("vllm", "--fault hang --after 3").put("server.silent_s", 3);
  CHECK_THAT(world.failure(), Contains("nothing received since it was sent, for ") &&
                                  Contains(" s (server.silent_s)"));
}

TEST_CASE("a stream that stands still is told from a turn that no byte came for") {
  ServerWorld world;
  world.scripted("vllm", "--fault stall --after 3").put("server.silent_s", 3);
  CHECK_THAT(world.failure(),
             Contains("its stream has stood still for ") && Contains(" s (server.silent_s)"));
}

TEST_CASE("a stream stands still until a token comes, whatever else does") {
  for (const char* fault : {"pings", "blanks", "roles"}) {
    INFO(fault);
    ServerWorld world;
    world.scripted("openai", "--after 3 --fault " + std::string(fault)).put("server.silent_s", 1);
    CHECK_THAT(world.failure(),
               Contains("its stream has stood still for 1 s (server.silent_s), after 3 of ") &&
                   Contains(" hold none"));
  }
}

TEST_CASE("a header's value comes from the environment, and is told nowhere") {
  const auto measured = [](const std::string& wanted) {
    ServerWorld world;
    world.scripted("openai", "--authorization " + wanted);
    world.set("server.header.Authorization", "env:KVSWEEP_TEST_KEY");
    return world.failure();
  };
  ::unsetenv("KVSWEEP_TEST_KEY");
  CHECK_THAT(measured("Bearer+abc123"),
             Contains("server.header.Authorization: the environment variable KVSWEEP_TEST_KEY is "
                      "not set where this worker runs"));
  ::setenv("KVSWEEP_TEST_KEY", "abc123", 1);
  CHECK(measured("Bearer+abc123") == "ok");
  CHECK_THAT(measured("Bearer+other"), Contains("HTTP 401: {\"error\": {\"message\": \"wrong key "
                                                "Bearer (a secret)") &&
                                           !Contains("abc123"));
  ::setenv("KVSWEEP_TEST_KEY", "Basic abc123", 1);
  CHECK(measured("Basic+abc123") == "ok");
  ::setenv("KVSWEEP_TEST_KEY", "abc123\r\nX: y", 1);
  CHECK_THAT(measured("x"), Contains("holds a line break") && !Contains("abc123"));
  ::unsetenv("KVSWEEP_TEST_KEY");
}

TEST_CASE("a server that does not know stream_options is measured without them") {
  ServerWorld world;
  world.scripted("openai", "--fault no-options");
  CHECK_THAT(world.failure(), Contains("stream_options is not permitted"));
  world.put("server.request.stream_options", false);
  CHECK(world.failure() == "ok");
}

TEST_CASE("a server that dies while it warms up is told by its end, not by the broken answer") {
  ServerWorld world;
  world.scripted("vllm", "--fault die --after -3");
  CHECK_THAT(world.failure(),
             StartsWith("the server ended: it ended with exit code 9; the end of"));
  CHECK_THAT(world.failure(), Contains("CUDA error: out of memory"));
}

TEST_CASE("a stop is obeyed while a server does not answer its first prompts") {
  ServerWorld world;
  const server::ServerConfig config = world.scripted("vllm", "--fault hang --after -4").config();
  std::stop_source stop;
  std::jthread later([&] {
    while (world.starts() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  CHECK_THROWS_AS(server::Session(config, {world.log(), "", stop.get_token()}),
                  server::StartAbandoned);
}

TEST_CASE("a server whose port another process has taken is started again on another port") {
  ServerWorld world;
  world.scripted("vllm", "--yield-port " + world.file("port"));
  REQUIRE(::mkfifo(world.file("port").c_str(), 0600) == 0);
  std::optional<server::SupervisedServer> other;
  std::jthread taker([&] {
    server::Launch launch;
    launch.words = {
        KVSWEEP_PYTHON, "tests/server/scripted_server.py",   "--kind", "vllm", "--version", "9.9",
        "--port",       support::text_of(world.file("port"))};
    launch.log = world.file("other.log");
    other.emplace(launch);
  });
  CHECK(world.failure() == "ok");
  taker.join();
  CHECK(world.starts() == 2);
}

TEST_CASE("a server that refuses connections at its URL fails the cell") {
  ServerWorld world;
  world.set("server.kind", "openai")
      .set("server.version", "1")
      .set("server.url", "http://127.0.0.1:1/")
      .set("server.reset", "none");
  CHECK_THAT(world.failure(), StartsWith("the server at http://127.0.0.1:1 is not ready: "));
}

TEST_CASE("a real llama-server is measured: turns, hits on what it generated, and metrics") {
  ServerWorld world;
  if (!world.llama("-c 16384 -np 4 -cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  const sweep::CellResult recorded = world.run();
  CHECK(recorded.turns.rows() == 16);
  check_times(recorded);
  CHECK(figure(recorded, "prefix_hit_rate") > 0.5);
  CHECK(figure(recorded, "running_peak") >= 1);
  CHECK(figure(recorded, "forwards") > 0);
  CHECK(note(recorded, "server_pool") == "4096 tokens in each of 4 slots");
  world.set("server.chain", "generated");
  const sweep::CellResult generated = world.run();
  CHECK(figure(generated, "prefix_hit_rate") > figure(recorded, "prefix_hit_rate"));
}

TEST_CASE(
    "a real llama-server that runs already is emptied where it can be, and refused elsewhere") {
  ServerWorld alone;
  if (!alone.llama("-c 16384 -np 2 -cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  // One job, so that hits do not depend on which turns of others run beside it.
  alone.put("workload.jobs", std::int64_t{1});
  const double fresh = figure(alone.run(), "prefix_hit_rate");
  const std::string slots = "-c 16384 -np 2 --slot-save-path " + alone.file("");
  for (const std::string& words : {slots + " -cram 0", slots, std::string("-c 16384 -cram 0")}) {
    INFO(words);
    ServerWorld owner, world;
    REQUIRE(owner.llama(words));
    const server::Session session(owner.config(), {.log = owner.log(), .devices = {}});
    CHECK(session.facts().models.size() == 1);  // its alias is the same path
    REQUIRE(world.llama("-cram 0"));
    world.set("server.command", "").set("server.url", session.url());
    world.put("workload.jobs", std::int64_t{1});
    if (words == slots + " -cram 0") {
      CHECK(figure(world.run(), "prefix_hit_rate") == Approx(fresh));
      CHECK(figure(world.run(), "prefix_hit_rate") == Approx(fresh));
    } else {
      CHECK_THAT(world.failure(),
                 Contains("start it with --slot-save-path DIR and -cram 0, or give server.reset"));
    }
  }
}

TEST_CASE("a real llama-server can be made to generate recorded tokens, and keeps their KV") {
  ServerWorld world;
  if (!world.llama("-c 16384 -np 1 -cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  worker::Profiles profiles("sweeps");
  const auto config = *worker::bind(world.params(), "server", 42, profiles).config.server;
  server::Session session(config, {.log = world.log(), .devices = {}});
  engine::WallClock clock;
  server::HttpLoop http(clock);
  server::TurnStreams streams(http, session.dialect(), config, session.url());
  const std::vector<engine::TokenId> forced = {75, 76, 80, 75, 90};
  std::vector<engine::TokenId> prompt(200, 70);
  server::TurnCall call;
  call.job_id = "forced";
  call.max_tokens = 5;
  call.forced = forced;
  const auto answer = [&] {
    call.prompt = prompt;
    streams.start(call, 1, clock.now());
    while (true) {
      http.run_until(clock.now() + std::chrono::seconds(1));
      if (auto ended = streams.take_ended(); !ended.empty()) return ended.front().answer;
    }
  };
  CHECK(answer().ids == forced);
  prompt.insert(prompt.end(), forced.begin(), forced.end());
  prompt.resize(300, 71);
  CHECK(answer().cached_tokens == 204);  // the last token's KV does not exist yet
}

TEST_CASE("a real llama-server replays recorded answers, which later prompts find in its cache") {
  ServerWorld world;
  if (!world.llama("-c 16384 -np 2 -cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  const double recorded = figure(world.run(), "prefix_hit_rate");
  world.set("server.chain", "forced");
  const sweep::CellResult forced = world.run();
  CHECK(forced.turns.rows() == 16);
  CHECK(figure(forced, "prefix_hit_rate") > recorded);
  // Half of the ids of this vocabulary are bytes that are no character by themselves.
  CHECK(figure(forced, "chain_replaced_tok") > 0);
  CHECK_THAT(note(forced, "server_chain"), Contains("cannot be made to generate"));
}
