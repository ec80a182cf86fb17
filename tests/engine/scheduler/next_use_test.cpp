#include <map>

#include "tests/engine/support/num_contents.hpp"
#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using namespace std::chrono_literals;

namespace {

/// Blocks of the prompt that are still cached.
int cached_blocks(SchedulerWorld& world, const Tokens& prompt) {
  engine::Request probe;
  const Tokens longer = prompt + Tokens{9999};
  probe.spec.prompt = longer;
  engine::hash_full_blocks(probe, world.kv.block_size());
  return static_cast<int>(world.kv.find_prefix(probe).size());
}

/// Jobs over a pool of a few blocks of 4 tokens, 10 ms a step; tools take as long as the test says.
struct EvictionWorld : SchedulerWorld {
  EvictionWorld(int usable_blocks, std::map<int, engine::Nanos> tool_times)
      : SchedulerWorld({.kv = {usable_blocks + 1, 4, true},
                        .policy = {.eviction = "oracle",
                                   .estimator = {.truth = [tool_times](engine::JobId job, int) {
                                     return tool_times.at(static_cast<int>(engine::index(job)));
                                   }}}}) {}

  /// A turn with this prompt, whose one output token needs no block.
  void turn(int job, int number, const Tokens& prompt, bool last = false) {
    add(std::to_string(job) + '.' + std::to_string(number), {.prompt = prompt,
                                                             .outputs = {1},
                                                             .arrival_s = engine::to_seconds(now()),
                                                             .job = job,
                                                             .job_arrival_s = job,
                                                             .turn = number,
                                                             .last_turn = last});
  }
  void served(int job, const Tokens& prompt, bool last = false) {
    turn(job, 0, prompt, last);
    run_until_idle();
  }
  int cached(const Tokens& prompt) { return cached_blocks(*this, prompt); }
  /// A job of its own takes this many blocks and ends.
  void take(int blocks) {
    ++next_;
    served(next_, tokens(4 * blocks - 1, 20 + next_), true);
  }

 private:
  int next_ = 10;
};

const std::map<int, engine::Nanos> kTools = {{0, 3s}, {1, 9s}, {2, 5s}};

}  // namespace

TEST_CASE("the KV of the job that returns last is evicted first, from its end", "[eviction]") {
  EvictionWorld world(12, kTools);
  const Tokens a = tokens(16, 1), b = tokens(16, 2), c = tokens(16, 3);
  world.served(1, b);
  world.served(0, a);
  world.served(2, c);
  const auto left = [&] { return Ids{world.cached(a), world.cached(b), world.cached(c)}; };
  REQUIRE(left() == Ids{4, 4, 4});
  world.take(3);
  CHECK(left() == Ids{4, 1, 4});
}

TEST_CASE("KV that jobs share is used when the first of them is", "[eviction]") {
  // Jobs 0 and 1 share their first block: the order of eviction is b3 b2 b1, c3 to c0, a3 a2 a1,
  // and the shared block last.
  const Tokens root = tokens(4, 7);
  const Tokens a = root + tokens(12, 1), b = root + tokens(12, 2), c = tokens(16, 3);
  const auto left_after = [&](int blocks) {
    EvictionWorld world(11, kTools);
    world.served(1, b);
    world.served(0, a);
    world.served(2, c);
    world.take(blocks);
    return Ids{world.cached(a), world.cached(b), world.cached(c)};
  };
  CHECK(left_after(2) == Ids{4, 2, 4});
  CHECK(left_after(3) == Ids{4, 1, 4});
  CHECK(left_after(6) == Ids{4, 1, 1});
  CHECK(left_after(8) == Ids{3, 1, 0});
  CHECK(left_after(10) == Ids{1, 1, 0});
}

TEST_CASE("KV of jobs that are over is evicted before any other", "[eviction]") {
  EvictionWorld world(12, kTools);
  const Tokens a = tokens(16, 1), over = tokens(16, 2);
  world.served(0, a);
  world.served(1, over, true);
  world.take(7);
  CHECK(world.cached(a) == 4);
  CHECK(world.cached(over) == 1);
}

TEST_CASE("of turns that wait, the one served last loses its KV first", "[eviction]") {
  EvictionWorld world(13, kTools);
  const Tokens a = tokens(16, 1), b = tokens(16, 2);
  world.served(0, a);
  world.served(1, b);
  // It runs alone, since the turns behind it are longer than what is left of the pool, and its
  // growth evicts.
  world.add("long", {.prompt = tokens(17, 5), .outputs = tokens(20, 6), .job = 5});
  world.step();
  world.turn(1, 1, b + tokens(28, 8));
  world.turn(0, 1, a + tokens(28, 9));
  world.step();
  CHECK(world.waiting() == "1.1 0.1");
  for (int i = 0; i < 4; ++i) world.step();
  CHECK(world.running() == "long");
  CHECK(Ids{world.cached(a), world.cached(b)} == Ids{3, 4});
}

TEST_CASE("the KV of a turn that admission holds back goes before that of turns which wait",
          "[eviction]") {
  // Contexts and 100 tokens a program must fit 350: the third program pauses the smallest, job 0.
  policies::PolicyConfig policy;
  policy.admission.rule = "thunder";
  policy.admission.pool_tokens = 350;
  policy.admission.parameters["admission_period_s"] = 0.0;
  policy.eviction = "oracle";
  policy.estimator.truth = [](engine::JobId, int) { return engine::Nanos{0}; };
  SchedulerWorld world({.kv = {14, 4, true}, .policy = policy});
  const Tokens a = tokens(12, 1), b = tokens(16, 2);
  world.add("0.0", {.prompt = a, .outputs = {1}, .job = 0, .last_turn = false});
  world.run_until_idle();
  world.add("1.0", {.prompt = b, .outputs = {1}, .job = 1, .last_turn = false});
  world.run_until_idle();
  world.add("long", {.prompt = tokens(17, 5), .outputs = tokens(24, 6), .job = 5});
  world.step();
  world.add("1.1", {.prompt = b + tokens(28, 8), .outputs = {1}, .job = 1, .turn = 1});
  world.add("0.1", {.prompt = a + tokens(28, 9), .outputs = {1}, .job = 0, .turn = 1});
  world.step();
  CHECK(world.waiting() == "1.1");
  for (int i = 0; i < 8; ++i) world.step();
  CHECK(world.running() == "long");
  CHECK(Ids{cached_blocks(world, a), cached_blocks(world, b)} == Ids{2, 4});
}

TEST_CASE("lru takes no notice of when jobs return", "[eviction]") {
  SchedulerWorld world({.kv = {13, 4, true}});
  const Tokens a = tokens(16, 1), b = tokens(16, 2);
  world.add("a", {.prompt = a, .outputs = {1}, .job = 0, .last_turn = false});
  world.run_until_idle();
  world.add("b", {.prompt = b, .outputs = {1}, .job = 1, .last_turn = false});
  world.run_until_idle();
  world.add("c", {.prompt = tokens(23, 3), .outputs = {1}, .job = 2});
  world.run_until_idle();
  CHECK(world.free_list().size() == 12);
  CHECK(support::num_contents(world.kv.prefix_cache()) == 2 + 4 + 5);
}
