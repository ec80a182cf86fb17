#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using engine::StopReason;
using support::operator+;

namespace {

/// Admits all, and notes the contexts of programs that end.
class NotesEnds final : public policies::AdmissionRule {
 public:
  explicit NotesEnds(std::vector<int>& ends) : ends_(ends) {}
  void on_change(policies::Programs programs, engine::Nanos) override {
    for (policies::Program* each : programs) each->admitted = true;
  }
  void on_end(const policies::Program& program) override { ends_.push_back(program.tokens); }

 private:
  std::vector<int>& ends_;
};

/// One token a block, and the turns of jobs of 10 tokens a turn.
struct Admitting : support::SchedulerWorld {
  explicit Admitting(const policies::AdmissionConfig& admission)
      : SchedulerWorld({.kv = {.num_blocks = 1001, .block_size = 1},
                        .policy = {.order = "job_fcfs", .admission = admission}}) {}

  void arrive(const std::string& name, int tokens, int outputs = 1) {
    const int job = name[0] - 'a';
    add(name, support::Ask{.prompt = support::tokens(tokens, job),
                           .outputs = support::tokens(outputs),
                           .job = job,
                           .job_arrival_s = 1.0 * job,
                           .turn = name[2] - '0',
                           .last_turn = false});
  }
};

}  // namespace

TEST_CASE("a program paused in its tool is held back when it returns, until others leave room",
          "[admission]") {
  Admitting world({.rule = "thunder", .pool_tokens = 1000});
  world.arrive("a.0", 300);
  world.arrive("b.0", 450);
  CHECK(world.step() == "a.0:300 b.0:450");
  world.arrive("b.1", 600, 3);  // with a's 301 tokens and twice the margin more than the pool
  world.pass(std::chrono::seconds{5});
  CHECK(world.step() == "b.1:150");
  world.arrive("c.0", 10);
  world.arrive("a.1", 350);
  CHECK(world.step() == "b.1:1");
  CHECK(world.plan().stop == StopReason::active_programs);
  CHECK(world.order().held_back() == 2);
  CHECK(world.step() == "b.1:1");
  CHECK(world.order().held_back() == 1);  // nothing else runs, so the smallest is served
  world.pass(std::chrono::seconds{5});
  CHECK(world.step() == "c.0:10");
  CHECK(world.step() == "a.1:50");
}

TEST_CASE("with nothing in the engine the smallest program is served, whatever the rule says",
          "[admission]") {
  Admitting world({.rule = "working_set", .pool_tokens = 10});
  world.arrive("a.0", 300);
  world.arrive("b.0", 200);
  CHECK(world.step() == "a.0:300");
  CHECK(world.order().held_back() == 0);  // b alone in its turn
  world.arrive("c.0", 100);
  CHECK(world.step() == "b.0:200");
  CHECK(world.step() == "c.0:100");
}

TEST_CASE("one long turn does not keep a first turn waiting beyond its bound", "[admission]") {
  Admitting world(
      {.rule = "working_set", .pool_tokens = 400, .parameters = {{"first_wait_s", 2.0}}});
  world.arrive("a.0", 300, 100);
  CHECK(world.step() == "a.0:300");
  world.arrive("b.0", 200);
  world.pass(std::chrono::milliseconds{2900});  // b arrived after one second
  CHECK(world.step() == "a.0:1");
  CHECK(world.order().held_back() == 1);
  world.pass(std::chrono::milliseconds{200});
  CHECK(world.step() == "a.0:1 b.0:200");
}

TEST_CASE("a program that ends just before a look at the clock leaves its room to others",
          "[admission]") {
  const auto order = policies::make_order(
      {.admission = {.rule = "working_set",
                     .pool_tokens = 600,
                     .parameters = {{"pool_share", 1.0}, {"first_wait_s", 1000.0}}}});
  const engine::KvCache kv({.num_blocks = 2, .block_size = 1});
  std::deque<engine::Request> requests(3);
  const std::vector<engine::TokenId> tokens(150);
  for (std::uint32_t i = 0; i < 3; ++i) {
    requests[i].id = engine::RequestId{i};
    requests[i].spec.job = engine::JobId{i};
    requests[i].spec.prompt = tokens;
  }
  requests[1].spec.last_turn = true;
  for (engine::Request& each : requests) order->push(each);
  REQUIRE(order->held_back() == 1);
  for (engine::Request& each : {std::ref(requests[0]), std::ref(requests[1])}) order->remove(each);
  order->begin_step(std::chrono::seconds{1}, kv.prefix_cache());
  order->on_turn_end(requests[1], std::chrono::seconds{2});
  order->begin_step(std::chrono::seconds{3}, kv.prefix_cache());
  CHECK(order->front() == &requests[2]);
}

TEST_CASE("a prefix that programs share counts once for those that are admitted, if so asked",
          "[admission]") {
  const auto held_back = [](const char* rule, const char* shared) {
    const auto order = policies::make_order(
        {.admission = {.rule = rule,
                       .pool_tokens = 450,
                       .parameters = {{"pool_share", 1.0}, {"shared_prefixes", shared}}},
         .block_size = 10});
    std::deque<engine::Request> requests(4);
    std::deque<std::vector<engine::TokenId>> prompts;
    for (std::uint32_t i = 0; i < 4; ++i) {
      // 60 tokens of all, and 20 of its own.
      prompts.push_back(support::tokens(60, 9) + support::tokens(20, static_cast<int>(i)));
      requests[i].id = engine::RequestId{i};
      requests[i].spec.job = engine::JobId{i};
      requests[i].spec.prompt = prompts.back();
      engine::hash_full_blocks(requests[i], 10);
      order->push(requests[i]);
    }
    return order->held_back();
  };
  CHECK(held_back("working_set", "each") == 2);  // each 80 now and 80 more after a turn
  CHECK(held_back("working_set", "once") == 0);  // 80 and three times 20, with 35 more each
  CHECK(held_back("thunder", "each") == 2);      // each 180 with the margin
  CHECK(held_back("thunder", "once") == 1);      // 180, then 120 each
}

TEST_CASE("a program that shares its prefix with held-back ones alone is not a small one",
          "[admission]") {
  const auto order = policies::make_order(
      {.admission = {.rule = "thunder",
                     .pool_tokens = 450,
                     .parameters = {{"admission_period_s", 0.0}, {"shared_prefixes", "once"}}},
       .block_size = 10});
  std::deque<engine::Request> requests(4);
  std::deque<std::vector<engine::TokenId>> prompts;
  for (std::uint32_t i = 0; i < 4; ++i) {
    // Two groups of two.
    prompts.push_back(support::tokens(60, 8 + i / 2) + support::tokens(20, static_cast<int>(i)));
    requests[i].id = engine::RequestId{i};
    requests[i].spec.job = engine::JobId{i};
    requests[i].spec.prompt = prompts.back();
    engine::hash_full_blocks(requests[i], 10);
    order->push(requests[i]);
  }
  CHECK(order->held_back() == 2);  // 180 and 120 fit, and no 180 more
}

TEST_CASE("turns of subagents are never held back, and count for their program", "[admission]") {
  const auto order = policies::make_order(
      {.admission = {
           .rule = "working_set", .pool_tokens = 100, .parameters = {{"pool_share", 1.0}}}});
  std::deque<engine::Request> requests(3);
  const std::vector<engine::TokenId> tokens(60);
  for (std::uint32_t i = 0; i < 3; ++i) {
    requests[i].id = engine::RequestId{i};
    requests[i].spec.job = engine::JobId{i};
    requests[i].spec.prompt = tokens;
  }
  requests[1].spec.subagent_of = engine::JobId{0};
  requests[0].spec.prompt = requests[2].spec.prompt = std::span(tokens).first(10);
  for (engine::Request& each : requests) order->push(each);
  CHECK(order->size() == 2);
  CHECK(order->held_back() == 1);
}

TEST_CASE("a program ends with its own context where its subagent ended with it", "[admission]") {
  std::vector<int> ends;
  const auto order = policies::make_order(
      {.admission = {.rule = "plugin",
                     .given = [&] { return std::make_unique<NotesEnds>(ends); },
                     .parameters = {{"shared_prefixes", "once"}}},
       .block_size = 10});
  std::deque<engine::Request> requests(2);
  const std::vector<engine::TokenId> prompts[] = {support::tokens(60, 9) + support::tokens(20, 0),
                                                  support::tokens(60, 9) + support::tokens(20, 1)};
  for (std::uint32_t i = 0; i < 2; ++i) {
    requests[i].id = engine::RequestId{i};
    requests[i].spec.job = engine::JobId{i};
    requests[i].spec.prompt = prompts[i];
    requests[i].spec.last_turn = true;
    engine::hash_full_blocks(requests[i], 10);
  }
  requests[1].spec.subagent_of = engine::JobId{0};
  for (engine::Request& each : requests) order->push(each);
  for (engine::Request& each : requests) order->remove(each);
  order->on_turn_end(requests[1], engine::Nanos{1});
  order->on_turn_end(requests[0], engine::Nanos{1});
  CHECK(ends == std::vector<int>{80});
}
