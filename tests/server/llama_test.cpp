// Whole cells against a real llama-server, where it can be had.
#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"
#include "workers/server/session.hpp"
#include "workers/server/streams.hpp"

using Catch::Matchers::Contains;
using support::check_times;
using support::figure;
using support::note;
using support::ServerWorld;

namespace {

/// A server of its own, and turns that are sent to it one by one.
struct OwnStreams {
  explicit OwnStreams(const ServerWorld& world)
      : config(world.config()), session(config, {.log = world.log(), .devices = {}}) {}

  void start(const server::TurnCall& call) { streams.start(call, 1, clock.now()); }
  void pass(engine::Nanos time) { http.run_until(clock.now() + time); }

  const server::ServerConfig config;
  server::Session session;
  engine::WallClock clock{};
  server::HttpLoop http{clock};
  server::TurnStreams streams{http, session.dialect(), config, session.url()};
};

}  // namespace

TEST_CASE("a real llama-server is measured: turns, hits on what it generated, and metrics") {
  ServerWorld world;
  if (!world.llama("-c 16384 -np 4 -cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  const sweep::CellResult recorded = world.run();
  CHECK(recorded.turns.rows() == 16);
  check_times(recorded);
  CHECK(figure(recorded, "prefix_hit_rate") > 0.5);
  CHECK(figure(recorded, "running_peak") <= 4);  // its slots; NaN where none was seen
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

TEST_CASE("the metrics of a real llama-server count the request that runs") {
  ServerWorld world;
  if (!world.llama("-c 16384 -np 1 -cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  OwnStreams own(world);
  const std::vector<engine::TokenId> prompt(200, 70);
  server::TurnCall call;
  call.job_id = "long";
  call.prompt = prompt;
  call.max_tokens = 8000;  // many times what a sample takes
  own.start(call);
  double running = 0;
  while (running == 0 && own.streams.take_ended().empty()) {
    own.pass(std::chrono::milliseconds(1));
    const server::MetricsPage page(own.session.fetch("/metrics").body);
    running = own.session.dialect().sample(page).running;
  }
  CHECK(running == 1);
}

TEST_CASE("a real llama-server can be made to generate recorded tokens, and keeps their KV") {
  ServerWorld world;
  if (!world.llama("-c 16384 -np 1 -cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  OwnStreams own(world);
  const std::vector<engine::TokenId> forced = {75, 76, 80, 75, 90};
  std::vector<engine::TokenId> prompt(200, 70);
  server::TurnCall call;
  call.job_id = "forced";
  call.max_tokens = 5;
  call.forced = forced;
  const auto answer = [&] {
    call.prompt = prompt;
    own.start(call);
    while (true) {
      own.pass(std::chrono::seconds(1));
      if (auto ended = own.streams.take_ended(); !ended.empty()) return ended.front().answer;
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
