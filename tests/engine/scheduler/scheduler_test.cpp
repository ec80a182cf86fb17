#include "workers/engine/scheduler/scheduler.hpp"

#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::SchedKind;
using engine::StopReason;

namespace {

/// The limits that most scenarios set: pool, token budget, concurrent requests, order.
struct Limits {
  int blocks = 10'000;
  int block_size = 16;
  int budget = 8192;
  int seqs = 16;
  std::string order = "fcfs";
  bool chunked = true;
  int threshold = 0;
  bool reserve = true;
  int max_len = 8192;
};

WorldConfig config_of(const Limits& limits) {
  return {.kv = {limits.blocks, limits.block_size, true},
          .scheduler = {.max_num_batched_tokens = limits.budget,
                        .max_num_seqs = limits.seqs,
                        .max_model_len = limits.max_len,
                        .long_prefill_token_threshold = limits.threshold,
                        .chunked_prefill = limits.chunked,
                        .reserve_full_sequence = limits.reserve},
          .policy = {.order = limits.order}};
}

struct World : SchedulerWorld {
  explicit World(const Limits& limits) : SchedulerWorld(config_of(limits)) {}
  SchedKind kind(std::size_t i) const { return plan().scheduled[i].kind; }
};

}  // namespace

TEST_CASE("requests that fit are admitted together in the order of arrival", "[scheduler]") {
  World world({});
  for (char name = 'a'; name <= 'j'; ++name) world.add({name}, 10);
  CHECK(world.schedule() == "a:10 b:10 c:10 d:10 e:10 f:10 g:10 h:10 i:10 j:10");
  for (std::size_t i = 0; i < 10; ++i) CHECK(world.kind(i) == SchedKind::fresh);
  CHECK(world.running() == "a b c d e f g h i j");
  CHECK(world.waiting() == "");
  CHECK(world.plan().stop == StopReason::none);
}

TEST_CASE("long prefills advance in chunks of the threshold", "[scheduler]") {
  World world({.budget = 1024, .threshold = 400});
  for (const auto* name : {"a", "b", "c"}) world.add(name, 800);
  CHECK(world.step() == "a:400 b:400 c:224");
  CHECK(world.step() == "a:400 b:400 c:224");
  CHECK(world.step() == "a:1 b:1 c:352");
}

TEST_CASE("a prompt is split at the budget when chunked prefill is on", "[scheduler]") {
  World world({.budget = 1024, .seqs = 3});
  for (const auto& [name, size] : {std::pair{"a", 800}, {"b", 800}, {"c", 10}, {"d", 10}})
    world.add(name, size);
  CHECK(world.step() == "a:800 b:224");
}

TEST_CASE("without chunked prefill a prompt over the budget holds up shorter ones", "[scheduler]") {
  World world({.budget = 1024, .seqs = 3, .chunked = false});
  for (const auto& [name, size] : {std::pair{"a", 800}, {"b", 800}, {"c", 10}, {"d", 10}})
    world.add(name, size);
  CHECK(world.step() == "a:800");
  CHECK(world.plan().stop == StopReason::chunk_off);
  CHECK(world.step() == "a:1 b:800 c:10");
}

TEST_CASE("a victim that was scheduled in the step releases its tokens and blocks", "[scheduler]") {
  World world({.blocks = 6, .order = "priority"});
  world.add("lo", 32, 100, 5);
  CHECK(world.step() == "lo:32");
  world.add("hi", 32, 100, 0);
  CHECK(world.step() == "lo:1 hi:32");
  CHECK(world.kv.num_free() == 0);
  CHECK(world.step() == "hi:1");
  CHECK(world.preempted() == "lo");
  CHECK(world.plan().total_tokens == 1);
  CHECK(world.running() == "hi");
  CHECK(world.table("hi") == Ids{4, 5, 3});
  CHECK(world["lo"].num_preemptions == 1);
}

TEST_CASE("a preempted request resumes with its outputs when blocks are free again",
          "[scheduler]") {
  World world({.blocks = 5, .seqs = 2, .order = "priority"});
  world.add("low", 30, 100, 1);
  world.step();
  world.add("high", 32, 2, 0);
  CHECK(world.step() == "low:1 high:32");
  CHECK(world.kv.num_free() == 0);
  CHECK(world.step() == "high:1");
  CHECK(world.preempted() == "low");
  CHECK(world.finished() == "high");
  CHECK(world.schedule() == "low:16");
  CHECK(world.kind(0) == SchedKind::resumed);
  CHECK(world["low"].num_tokens() == 32);
  CHECK(world.plan().scheduled[0].computed_before == 16);
}

TEST_CASE("an urgent arrival is admitted beside running requests when there is room",
          "[scheduler]") {
  World world({.order = "priority"});
  world.add("a", 10, 100, 5);
  world.add("b", 10, 100, 5);
  world.step();
  world.add("urgent", 10, 100, 0);
  CHECK(world.step() == "a:1 b:1 urgent:10");
  CHECK(world.preempted() == "");
}

TEST_CASE("no request is preempted to admit an urgent arrival", "[scheduler]") {
  World world({.blocks = 5, .order = "priority"});
  world.add("a", 20, 100, 5);
  world.add("b", 20, 100, 5);
  world.step();
  world.add("later", 20, 100, 1);
  world.add("urgent", 20, 100, 0);
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.waiting() == "urgent later");
  CHECK(world.preempted() == "");
}

TEST_CASE("the smallest priority value is served first", "[scheduler]") {
  World world({.seqs = 1, .order = "priority"});
  world.add("0", 10, 10, 3);
  world.add("1", 10, 10, 2);
  world.add("2", 10, 10, 0);
  CHECK(world.step() == "2:10");
  CHECK(world.waiting() == "1 0");
}

TEST_CASE("among equal priorities the earliest arrival is served first", "[scheduler]") {
  World world({.seqs = 1, .order = "priority"});
  for (const auto& [name, arrival] : {std::pair{"0", 3.0}, {"1", 1.0}, {"2", 2.0}})
    world.add(name, {.prompt = tokens(10), .outputs = tokens(5), .arrival_s = arrival});
  CHECK(world.step() == "1:10");
  CHECK(world.waiting() == "2 0");
}

TEST_CASE("what the budget leaves out waits", "[scheduler]") {
  World world({.budget = 100});
  for (const auto* name : {"a", "b", "c"}) world.add(name, 50);
  world.step();
  CHECK(world.running() == "a b");
  CHECK(world.waiting() == "c");
}

TEST_CASE("the next turn of a job computes its new tokens and one partial block", "[scheduler]") {
  World world({});
  for (int i = 0; i < 3; ++i)
    world.add("t" + std::to_string(i),
              {.prompt = tokens(100, 2 * i), .outputs = tokens(200, 2 * i + 1)});
  world.run_until_idle();
  for (int i = 0; i < 3; ++i)
    world.add("u" + std::to_string(i),
              {.prompt = tokens(100, 2 * i) + tokens(200, 2 * i + 1), .outputs = tokens(5)});
  CHECK(world.step() == "u0:12 u1:12 u2:12");
  for (const auto& share : world.plan().scheduled) CHECK(share.computed_before == 288);
}

TEST_CASE("admission ends exactly where the budget does", "[scheduler]") {
  World world({.budget = 100});
  for (const auto* name : {"a", "b", "c"}) world.add(name, 50);
  CHECK(world.step() == "a:50 b:50");
  CHECK(world.plan().stop == StopReason::tok_budget);
  CHECK(world.step() == "a:1 b:1 c:50");
}

TEST_CASE("equal prompts admitted in one step share what the first computes", "[scheduler]") {
  World world({});
  const Ask ask{.prompt = tokens(100), .outputs = tokens(5, 1)};
  world.add("a", ask);
  world.add("b", ask);
  CHECK(world.step() == "a:100 b:4");
}

TEST_CASE("a chunked prompt samples with its last chunk only", "[scheduler]") {
  World world({.budget = 40});
  world.add("a", 100);
  world.step();
  world.step();
  CHECK(world["a"].num_outputs() == 0);
  CHECK_FALSE(world.plan().scheduled[0].samples);
  CHECK(world.step() == "a:20");
  CHECK(world.plan().scheduled[0].samples);
  CHECK(world["a"].num_outputs() == 1);
}

TEST_CASE("a running request that the budget leaves out keeps its blocks", "[scheduler]") {
  World world({.budget = 50, .threshold = 49});
  world.add("a", 200);
  world.add("b", 1);
  CHECK(world.step() == "a:49 b:1");
  world.add("c", 1);
  CHECK(world.step() == "a:49 b:1");
  CHECK(world.step() == "a:49 b:1");
  CHECK(world.step() == "a:49 b:1");
  CHECK(world.step() == "a:4 b:1 c:1");
  CHECK(world["b"].num_outputs() == 5);
}

TEST_CASE("no more than max_num_seqs run at once", "[scheduler]") {
  World world({.seqs = 2});
  for (const auto* name : {"a", "b", "c"}) world.add(name, 10, 1);
  CHECK(world.step() == "a:10 b:10");
  CHECK(world.plan().stop == StopReason::max_seqs);
  CHECK(world.finished() == "a b");
  CHECK(world.step() == "c:10");
}

TEST_CASE("the youngest running request is preempted and is first in the queue", "[scheduler]") {
  World world({.blocks = 6, .block_size = 4});
  world.add("a", 8);
  world.add("b", 8);
  world.step();
  world.add("c", 4);
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  CHECK(world.waiting() == "b c");
  CHECK(world.plan().stop == StopReason::preempted);
}

TEST_CASE("several victims of one step wait in the order in which they came", "[scheduler]") {
  World world({.blocks = 6, .block_size = 4, .threshold = 8, .reserve = false});
  world.add("a", 20, 1);
  for (const auto* name : {"b", "c", "d"}) world.add(name, 2);
  CHECK(world.step() == "a:8 b:2 c:2 d:2");
  CHECK(world.step() == "a:8 b:1");
  CHECK(world.preempted() == "d c");
  CHECK(world.waiting() == "c d");
}

TEST_CASE("the youngest request is preempted when it cannot grow itself, and resumes",
          "[scheduler]") {
  World world({.blocks = 5, .block_size = 4});
  world.add("a", 4, 13);
  world.add("b", 4, 13);
  world.step();
  for (int i = 0; i < 4; ++i) CHECK(world.step() == "a:1 b:1");
  CHECK(world.kv.num_free() == 0);
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  CHECK(world["b"].num_preemptions == 1);
  world.run_until_idle();
  CHECK(world["b"].num_outputs() == 13);
}

TEST_CASE("a step that preempts admits nothing although blocks are free", "[scheduler]") {
  World world({.blocks = 8, .block_size = 4});
  world.add("a", 8);
  world.add("b", 20);
  CHECK(world.step() == "a:8 b:20");
  world.add("small", 1);
  CHECK(world.step() == "a:1");
  CHECK(world.kv.num_free() > 1);
  CHECK(world.waiting() == "b small");
}

TEST_CASE("a resumed request hits its own blocks that are still cached", "[scheduler]") {
  World world({.blocks = 7, .block_size = 4});
  world.add("a", 8, 2);
  world.add("b", 14, 10);
  world.step();
  CHECK(world.step() == "a:1");
  CHECK((world.preempted() == "b" && world.finished() == "a"));
  CHECK(world.schedule() == "b:3");
  CHECK(world.kind(0) == SchedKind::resumed);
  CHECK(world.plan().scheduled[0].computed_before == 12);
}

TEST_CASE("blocks that a withdrawn request was about to fill are not hit", "[scheduler]") {
  World world({.blocks = 8, .block_size = 4, .budget = 12, .order = "priority", .threshold = 8});
  world.add("lo", 24, 1, 5);
  CHECK(world.step() == "lo:8");
  world.add("hi", 4, 2, 0);
  CHECK(world.step() == "lo:8 hi:4");
  CHECK(world.step() == "hi:1");
  CHECK((world.preempted() == "lo" && world.finished() == "hi"));
  CHECK(world.step() == "lo:8");
  CHECK(world.plan().scheduled[0].computed_before == 16);
}

TEST_CASE("the head of the queue is never passed over", "[scheduler]") {
  World world({.blocks = 6, .block_size = 4});
  world.add("running", 8);
  world.step();
  world.add("large", 16);
  world.add("small", 1);
  CHECK(world.step() == "running:1");
  CHECK(world.waiting() == "large small");
  CHECK(world.plan().stop == StopReason::isl_reserve);
}

TEST_CASE("a prompt begins in the room of its first chunk when none is reserved", "[scheduler]") {
  World world({.blocks = 6, .block_size = 4, .budget = 8, .reserve = false});
  world.add("running", 4, 2);
  world.step();
  world.add("large", 20, 1);
  CHECK(world.step() == "running:1 large:7");
  World reserving({.blocks = 6, .block_size = 4, .budget = 8});
  reserving.add("running", 4, 2);
  reserving.step();
  reserving.add("large", 20, 1);
  CHECK(reserving.step() == "running:1");
}

TEST_CASE("a chunk that finds no blocks stops admission", "[scheduler]") {
  World world({.blocks = 4, .block_size = 4, .reserve = false});
  world.add("a", 8, 50);
  world.step();
  world.add("b", 8);
  CHECK(world.step() == "a:1");
  CHECK(world.plan().stop == StopReason::kv_insufficient);
}

TEST_CASE("a refused head is admitted in the very step in which it fits", "[scheduler]") {
  World world({.blocks = 6, .block_size = 4});
  world.add("a", 8, 3);
  world.add("b", 4, 20);
  world.step();
  world.add("large", 12, 1);
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.finished() == "a");
  CHECK(world.step() == "b:1 large:12");
}

TEST_CASE("a refused head is admitted once other requests have computed its prefix",
          "[scheduler]") {
  World world({.blocks = 7, .block_size = 4, .budget = 8, .seqs = 3});
  world.add("same", {.prompt = tokens(16) + tokens(1, 1), .outputs = tokens(3, 2)});
  world.step();
  world.add("head", {.prompt = tokens(16) + tokens(1, 3), .outputs = tokens(1, 4)});
  CHECK(world.step() == "same:8");
  CHECK(world.plan().stop == StopReason::tok_budget);
  CHECK(world.step() == "same:1 head:1");
  CHECK(world.plan().scheduled[1].computed_before == 16);
}

TEST_CASE("sequences end at max_model_len although more output is asked for", "[scheduler]") {
  World world({.max_len = 20});
  world.add("a", 18, 10);
  world.run_until_idle();
  CHECK(world["a"].num_outputs() == 2);
  CHECK(world["a"].status == engine::RequestStatus::finished);
}

TEST_CASE("an aborted request leaves at once and frees its blocks", "[scheduler]") {
  World world({.blocks = 11, .seqs = 1});
  world.add("running", 40);
  world.add("waiting", 40);
  world.step();
  world.abort("waiting");
  CHECK(world.waiting() == "");
  world.abort("running");
  CHECK(world.kv.num_free() == 10);
  CHECK(world.scheduler().idle());
  CHECK(world["running"].status == engine::RequestStatus::aborted);
}

TEST_CASE("a preempted request can be aborted", "[scheduler]") {
  World world({.blocks = 6, .block_size = 4});
  world.add("a", 8);
  world.add("b", 8);
  world.step();
  world.step();
  REQUIRE(world.waiting() == "b");
  world.abort("b");
  CHECK(world.waiting() == "");
  CHECK(world.step() == "a:1");
}

TEST_CASE("an idle scheduler plans an empty step", "[scheduler]") {
  World world({});
  CHECK(world.step() == "");
  CHECK(world.plan().stop == StopReason::none);
  CHECK(world.plan().step == 1);
}
