// Cells whose server fails or stands still: each fails with what happened, and the next one runs.
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <stop_token>
#include <thread>

#include "tests/server/processes.hpp"
#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"
#include "workers/server/session.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::ServerWorld;

namespace {

struct Fault {
  const char *words, *complaint;
};

}  // namespace

TEST_CASE("every fault of a server fails its cell with what happened, and the next cell runs") {
  const Fault faults[] = {
      {"--fault 400 --after 3", "HTTP 400: {\"error\": {\"message\": \"maximum context length"},
      {"--fault 503 --after 3", "HTTP 503: {\"error\": {\"message\": \"queue is full"},
      {"--fault stop --after 3", "the stream stopped after 3 of"},
      {"--fault cut --after 3", " bytes, without the [DONE] that closes it: "},
      {"--fault open --after 3", " bytes, without the [DONE] that closes it; the end of "},
      {"--fault truncated --after 3", "it reports 64 prompt tokens, and "},
      {"--fault cached --after 3", " cached tokens of a prompt of "},
      {"--fault gzip --after 3", "it is compressed (Content-Encoding: gzip), which was not asked"},
      {"--fault deep --after 3", "an event of its stream is JSON of more than 256 levels"},
      {"--fault endless-headers --after 3", "its headers are longer than 256 KiB"},
      {"--fault endless-error --after 3", "HTTP 500: EEEE"},
      {"--fault tokens --after 3", "it sends more tokens than the "},
      {"--fault line --after 3", "an event of its stream is longer than 16 MiB"},
      {"--fault error --after 3", "engine is dead"},
      {"--fault garbage --after 3", "an event of its stream is no JSON object: <html>"},
      {"--fault error-event --after 3", "it reports an error: {\"message\":\"boom\"}"},
      {"--fault json --after 3", "{\"error\": {\"message\": \"model is not loaded\"}}"},
      {"--fault html --after 3", "no event is in it: <html>proxy\\x1b login</html>"},
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
             Contains("no token for ") && Contains(" s (server.silent_s) after 3 of "));
}

TEST_CASE("a stream stands still until a token comes, whatever else does") {
  for (const char* fault : {"pings", "blanks", "roles"}) {
    INFO(fault);
    ServerWorld world;
    world.scripted("openai", "--after 3 --fault " + std::string(fault)).put("server.silent_s", 1);
    CHECK_THAT(world.failure(), Contains("no token for 1 s (server.silent_s) after 3 of ") &&
                                    Contains(" bytes came without one"));
  }
}

TEST_CASE("an answer that has ended is whole, although its connection stays open") {
  ServerWorld world;
  world.scripted("openai", "--fault endless").put("server.silent_s", 1);
  const sweep::CellResult cell = world.run();
  CHECK(cell.turns.rows() == 16);
  support::check_times(cell);
}

TEST_CASE("a header's value comes from the environment, and is told nowhere") {
  const auto measured = [](const std::string& wanted) {
    ServerWorld world;
    world.scripted("openai", "--wanted " + wanted);
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
  const std::string hangs = world.file("hangs");
  REQUIRE(::mkfifo(hangs.c_str(), 0600) == 0);
  const server::ServerConfig config =
      world.scripted("vllm", "--fault hang --after -4 --tell-hang " + hangs).config();
  std::stop_source stop;
  std::jthread later([&] {
    std::ifstream waits(hangs);  // opens once a prompt hangs
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
