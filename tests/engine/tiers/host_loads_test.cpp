// How the scheduler handles requests with host hits: the scenarios of a connector that always has a
// fixed number of tokens.
#include "tests/engine/support/mock_tier.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::RequestStatus;
using engine::SchedKind;

namespace {

struct Setup {
  int match;
  bool blocking = false;
  int block_size = 16;
  int blocks = 10'000;
};

/// Requests over a tier that always has `match` tokens more.
struct LoadWorld : MockTier, SchedulerWorld {
  explicit LoadWorld(const Setup& setup)
      : MockTier(setup.match, setup.blocking),
        SchedulerWorld({.kv = {setup.blocks, setup.block_size, true},
                        .scheduler = {.max_num_batched_tokens = 8192,
                                      .max_num_seqs = 16,
                                      .max_model_len = 4096}},
                       this) {
    MockTier::world = this;
  }
  bool hashed(const std::string& name, int block) {
    const auto b = (*this)[name].blocks[static_cast<std::size_t>(block)];
    return kv.prefix_cache().contains(b);
  }
  int refs(const std::string& name, int block) {
    return kv.pool().refs((*this)[name].blocks[static_cast<std::size_t>(block)]);
  }
  int hashed_blocks(const std::string& name) {
    int count = 0;
    for (int i = 0; i < static_cast<int>((*this)[name].blocks.size()); ++i)
      count += hashed(name, i) ? 1 : 0;
    return count;
  }
};

}  // namespace

TEST_CASE("a blocking tier loads KV within the step that admits the request", "[host_loads]") {
  LoadWorld world({.match = 32, .blocking = true});
  world.add("a", 64, 3);
  world.add("b", 64, 3);
  CHECK(world.schedule() == "a:32 b:32");
  CHECK((world.hashed_blocks("a") == 4 && world["a"].blocks.size() == 4));
  world.apply();
  world.run_until_idle();
  const Tokens longer = tokens(64, 1) + tokens(64, 50);  // behind a's prompt
  world.add("c", {.prompt = longer, .outputs = tokens(1, 51)});
  CHECK(world.step() == "c:32");
  CHECK(world.plan().scheduled[0].computed_before == 96);
  CHECK((world["c"].prefix_hit_tokens == 64 && world["c"].host_hit_tokens == 32));
}

TEST_CASE("a loading request waits outside the queue, and returns with its KV", "[host_loads]") {
  LoadWorld world({.match = 32});
  world.add("a", 64, 3);
  world.add("b", 64, 3);
  CHECK(world.step() == "");
  CHECK((world.running() == "" && world.waiting() == "" && world.loading() == "a b"));
  CHECK(world["a"].num_computed_tokens == 32);
  CHECK(world.step() == "");
  world.arrived = true;
  CHECK(world.step() == "a:32 b:32");
  CHECK(world.plan().scheduled[0].kind == SchedKind::fresh);
  CHECK(world["a"].host_hit_tokens == 32);
}

TEST_CASE("a request does not begin to load until its sequence has room", "[host_loads]") {
  LoadWorld world({.match = 8, .blocking = true, .block_size = 4, .blocks = 10});
  world.add("a", 24, 3);
  world.add("b", 24, 3);
  CHECK(world.step() == "a:16");
  CHECK(world.waiting() == "b");
  while (world.running() == "a") world.step();
  CHECK(world.kv.num_free() == 9);
  CHECK(world.step() == "b:16");
}

TEST_CASE("a preempted request resumes with what the GPU kept and what the tier has",
          "[host_loads]") {
  LoadWorld world({.match = 2, .blocking = true, .block_size = 2, .blocks = 7});
  world.add("0", 5, 4);
  world.add("1", 5, 4);
  CHECK(world.step() == "0:3 1:3");
  CHECK(world.kv.num_free() == 0);
  CHECK(world.step() == "0:1 1:1");
  const Ids lost = world.table("1");
  CHECK(world.step() == "0:1");
  CHECK(world.preempted() == "1");
  CHECK(world.table("0")[3] == lost[2]);
  CHECK(world.step() == "0:1");
  CHECK(world.finished() == "0");
  CHECK(world.kv.num_free() == 6);
  CHECK(world.step() == "1:1");
  CHECK(world.plan().scheduled[0].kind == SchedKind::resumed);
}

TEST_CASE("the last token of a fully loaded prompt is recomputed", "[host_loads]") {
  LoadWorld world({.match = 40});
  world.add("a", 40, 3);
  world.step();
  CHECK((world["a"].num_computed_tokens == 40 && world.table("a").size() == 3));
  CHECK((world.hashed_blocks("a") == 0 && world.kv.prefix_cache().num_blocks() == 0));
  world.arrived = true;
  CHECK(world.schedule() == "a:1");
  CHECK(world.plan().scheduled[0].computed_before == 39);
  CHECK(world.hashed_blocks("a") == 2);
  CHECK(world.refs("a", 0) == 1);
  CHECK(world["a"].host_hit_tokens == 39);  // what is computed was not found
}

TEST_CASE("a loaded prompt of whole blocks takes no further block", "[host_loads]") {
  LoadWorld world({.match = 32});
  world.add("a", 32, 3);
  world.step();
  world.arrived = true;
  CHECK(world.schedule() == "a:1");
  CHECK(world.plan().scheduled[0].computed_before == 31);
  CHECK(world.table("a").size() == 2);
}

TEST_CASE("no request hits a block that is still being loaded", "[host_loads]") {
  LoadWorld world({.match = 32});
  const Tokens prompt = tokens(48);
  world.add("remote", {.prompt = prompt, .outputs = tokens(2, 1)});
  world.step();
  REQUIRE(world.loading() == "remote");
  auto& local = world.add("local", {.prompt = prompt, .outputs = tokens(2, 2)});
  world.unknown.insert(local.id);
  CHECK(world.schedule() == "local:48");
  CHECK(world.hashed_blocks("local") == 3);
  CHECK(world.hashed_blocks("remote") == 0);
  for (int i = 0; i < 2; ++i)
    CHECK(world.refs("remote", i) == 2);  // references of the request and of the copy
  world.apply();
}

TEST_CASE("a loaded request is a victim like any other once it runs", "[host_loads]") {
  LoadWorld world({.match = 32, .blocks = 6});
  auto& normal = world.add("normal", 32, 4);
  world.unknown.insert(normal.id);
  CHECK(world.step() == "normal:32");
  world.add("remote", 32, 3);
  CHECK(world.step() == "normal:1");
  CHECK(world.kv.num_free() == 0);
  world.arrived = true;
  CHECK(world.schedule() == "normal:1 remote:1");
  CHECK(world.plan().scheduled[1].computed_before == 31);
  world.apply();
  CHECK(world.step() == "normal:1");
  CHECK((world.preempted() == "remote" && world.finished() == "normal"));
  world.unknown.insert(world["remote"].id);
  CHECK(world.step() == "remote:1");
  CHECK(world.plan().scheduled[0].computed_before == 32);
}

TEST_CASE("blocks of a request that was aborted while it loads stay with the copy",
          "[host_loads]") {
  LoadWorld world({.match = 32});
  world.add("a", 64, 3);
  world.step();
  world.abort("a");
  CHECK(world["a"].status == RequestStatus::aborted);
  CHECK(world.kv.census().copying == 2);
  world.arrived = true;
  world.step();
  CHECK(world.kv.num_free() == world.kv.num_usable());
}

TEST_CASE("a request that was aborted after its load leaves nothing behind", "[host_loads]") {
  LoadWorld world({.match = 32});
  world.add("a", 64, 3);
  world.step();
  world.arrived = true;
  world.SchedulerWorld::schedule();
  world.apply();
  world.abort("a");
  CHECK(world.kv.num_free() == world.kv.num_usable());
}

TEST_CASE("a request with a failed load continues behind the last intact block", "[host_loads]") {
  LoadWorld world({.match = 99 * 16});
  for (const char* name : {"1", "2", "3"}) world.add(name, 100 * 16, 3);
  world.step();
  world.fails_at[world["2"].id] = 50;
  world.arrived = true;
  CHECK(world.schedule() == "1:16 2:800 3:16");
  CHECK(world.plan().scheduled[1].computed_before == 50 * 16);
  CHECK(world["2"].host_hit_tokens == 50 * 16);
  world.apply();
  world.run_until_idle();
}

TEST_CASE("a request whose whole load failed starts over", "[host_loads]") {
  LoadWorld world({.match = 32});
  world.add("a", 64, 3);
  world.step();
  world.fails_at[world["a"].id] = 0;
  world.arrived = true;
  world.schedule();
  CHECK(world.loading() == "a");  // the tier still has the KV, so it is loaded again
  world.apply();
  world.fails_at.clear();
  CHECK(world.step() == "a:32");
}

TEST_CASE("a failed load of a blocking tier removes only its request from the step",
          "[host_loads]") {
  LoadWorld world({.match = 99 * 16, .blocking = true});
  for (const char* name : {"1", "2", "3"}) world.add(name, 100 * 16, 1);
  world.fails_at[world["2"].id] = 50;
  CHECK(world.schedule() == "1:16 3:16");
  world.apply();
  CHECK(world.finished() == "1 3");
  CHECK(world.running() == "2");
  CHECK((world["2"].num_computed_tokens == 50 * 16 && world["2"].outputs.empty()));
  CHECK(world.step() == "2:800");
  CHECK(world.finished() == "2");
}

TEST_CASE("a request that shares blocks that failed to load leaves the step, too", "[host_loads]") {
  LoadWorld world({.match = 64, .blocking = true});
  const Tokens prompt = tokens(96);
  world.add("a", {.prompt = prompt, .outputs = tokens(1, 1)});
  auto& b = world.add("b", {.prompt = prompt + tokens(8, 2), .outputs = tokens(1, 3)});
  world.unknown.insert(b.id);  // hits the blocks just allocated to a
  world.fails_at[world["a"].id] = 1;
  CHECK(world.schedule() == "");
  CHECK((world["a"].num_computed_tokens == 16 && world["b"].num_computed_tokens == 16));
  world.apply();
  CHECK(world.step() == "a:80 b:88");
}

TEST_CASE("time spent on a load is a stall, not time in the queue", "[time]") {
  LoadWorld world({.match = 32});
  world.add("a", {.prompt = tokens(64), .outputs = tokens(2, 1), .arrival_s = 0.0});
  world.step();
  world.step();
  world.arrived = true;
  world.run_until_idle();
  const auto step = world.step_duration;
  const engine::TimeSplit& time = world["a"].time;
  CHECK((time.queue == 0 * step && time.load_stall == 2 * step));
  CHECK((time.prefill == step && time.decode == step));
}
