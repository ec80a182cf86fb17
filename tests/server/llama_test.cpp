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
