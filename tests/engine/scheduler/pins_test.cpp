#include "workers/engine/scheduler/pins.hpp"

#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using namespace std::chrono_literals;
using Events = std::vector<std::string>;

namespace {

/// Jobs with pinned finished turns: 4 tokens per block, 10 ms per step. The prompt of turn k
/// extends the previous turns by `fresh` tokens; the output is one token.
struct PinWorld : SchedulerWorld {
  explicit PinWorld(int usable_blocks, const engine::PinRules& rules = {},
                    engine::Nanos ttl = 100ms)
      : SchedulerWorld(
            {.kv = {usable_blocks + 1, 4, true},
             .policy = {.order = "job_fcfs",
                        .retention = "pin",
                        .parameters = {{"ttl_s", engine::to_seconds(ttl)}, {"threshold_s", 3600.0}},
                        .pins = rules}}) {}

  std::string turn(int job, int turn, int fresh, bool last = false, int outputs = 1) {
    Tokens& prompt = context_[job];
    prompt = prompt + tokens(fresh, 100 * job + 2 * turn);
    const std::string name = std::to_string(job) + '.' + std::to_string(turn);
    add(name, {.prompt = prompt,
               .outputs = tokens(outputs, 100 * job + 2 * turn + 1),
               .arrival_s = engine::to_seconds(now()),
               .job = job,
               .job_arrival_s = job,
               .turn = turn,
               .last_turn = last,
               .tool = 0});
    prompt = prompt + tokens(outputs, 100 * job + 2 * turn + 1);
    return name;
  }
  /// Runs a turn that is served at once and pinned.
  void pinned_turn(int job, int turn_number, int fresh) {
    turn(job, turn_number, fresh);
    step();
  }
  Events events_since_last() {
    const Events all = pin_events();
    const Events fresh(all.begin() + static_cast<std::ptrdiff_t>(seen_), all.end());
    seen_ = all.size();
    return fresh;
  }

 private:
  std::map<int, Tokens> context_;
  std::size_t seen_ = 0;
};

}  // namespace

TEST_CASE("a pinned turn keeps all its blocks out of the free list", "[pins]") {
  PinWorld world(10);
  world.pinned_turn(0, 0, 9);
  CHECK(world.pins.count() == 1);
  CHECK(world.kv.census().pinned == 3);
  CHECK(world.free_list() == Ids{4, 5, 6, 7, 8, 9, 10});
  CHECK(world.pin_events() == Events{"pin 0.0 unseen_tool"});
}

TEST_CASE("a pin ends with its time to live and leaves its content cached", "[pins]") {
  PinWorld world(10, {}, 20ms);
  world.pinned_turn(0, 0, 8);
  world.step();
  CHECK(world.pins.count() == 1);
  world.step();
  CHECK(world.pins.count() == 1);
  world.step();
  CHECK(world.pins.count() == 0);
  CHECK(world.kv.census().cached == 2);
  CHECK(world.pin_events() == Events{"pin 0.0 unseen_tool", "unpin 0.0 ttl"});
}

TEST_CASE("a pin ends at its deadline exactly", "[pins]") {
  PinWorld world(10);
  world.pinned_turn(0, 0, 8);
  world.pins.expire(world.now() + 100ms - 1ns);
  CHECK(world.pins.count() == 1);
  world.pins.expire(world.now() + 100ms);
  CHECK(world.pins.count() == 0);
}

TEST_CASE("the next expiry is the earliest deadline of all pins", "[pins]") {
  PinWorld world(20, {.release_on_handoff = true});
  CHECK(world.pins.next_expiry() == engine::Nanos::max());
  world.pinned_turn(0, 0, 8);
  world.pinned_turn(1, 0, 8);
  CHECK(world.pins.next_expiry() == 110ms);
  world.turn(0, 1, 4);
  world.step();  // the first pin ends by handoff, and the turn is pinned
  CHECK(world.pins.next_expiry() == 120ms);
  world.pass(90ms);
  world.step();
  CHECK(world.pins.next_expiry() == 130ms);
  world.turn(0, 2, 4, true);
  world.step();
  CHECK(world.pins.next_expiry() == engine::Nanos::max());
}

TEST_CASE("a pin that is overdue, but protected, is not due again", "[pins]") {
  PinWorld world(4, {.protect_waiting = true}, 20ms);
  world.turn(1, 0, 8, true, 5);
  world.step();
  world.pinned_turn(0, 0, 3);
  world.turn(0, 1, 8);
  CHECK(world.pins.next_expiry() == 40ms);
  world.pass(20ms);
  world.step();
  CHECK((world.pins.count() == 1 && world.pins.next_expiry() == engine::Nanos::max()));
}

TEST_CASE("the next turn hits what is pinned and goes before others", "[pins]") {
  PinWorld world(20);
  world.pinned_turn(5, 0, 11);
  world.turn(1, 0, 8);
  world.turn(5, 1, 4);
  CHECK(world.waiting() == "5.1 1.0");
  world.step();
  CHECK(world["5.1"].prefix_hit_tokens == 8);  // 12 tokens known, 11 of them computed
}

TEST_CASE("a pin is replaced when the job finishes another turn", "[pins]") {
  PinWorld world(20);
  world.pinned_turn(0, 0, 8);
  world.pass(1ms);  // the estimator learns nothing from a tool that takes no time
  world.pinned_turn(0, 1, 4);
  CHECK(world.pins.count() == 1);
  CHECK(world.kv.census().pinned == 4);
  CHECK(world.pin_events() ==
        Events{"pin 0.0 unseen_tool", "unpin 0.0 replaced", "pin 0.1 known_tool"});
}

TEST_CASE("the time to live of a replaced pin does not end the pin that replaced it", "[pins]") {
  PinWorld world(20, {}, 40ms);
  world.pinned_turn(0, 0, 8);
  world.pass(20ms);
  world.pinned_turn(0, 1, 4);
  world.pass(15ms);
  world.step();
  CHECK(world.pins.count() == 1);
  world.pass(40ms);
  world.step();
  CHECK(world.pins.count() == 0);
}

TEST_CASE("the job's last turn ends its pin and is not pinned", "[pins]") {
  PinWorld world(20);
  world.pinned_turn(0, 0, 8);
  world.events_since_last();
  world.turn(0, 1, 4, true);
  world.step();
  CHECK(world.events_since_last() == Events{"unpin 0.0 job_end", "keep_declined 0.1 last_turn"});
  CHECK(world.kv.num_free() == 20);
}

TEST_CASE("on handoff a pin ends when the next turn is admitted and its blocks stay", "[pins]") {
  PinWorld world(20, {.release_on_handoff = true});
  world.pinned_turn(0, 0, 8);
  world.turn(0, 1, 4, false, 5);
  world.step();
  CHECK(world.pins.count() == 0);
  CHECK(world.pin_events().back() == "unpin 0.0 handoff");
  CHECK(world.table("0.1") == Ids{1, 2, 3, 4});
}

TEST_CASE("without handoff a pin stays while the next turn runs", "[pins]") {
  PinWorld world(20, {}, 1h);
  world.pinned_turn(0, 0, 8);
  world.turn(0, 1, 4, false, 5);
  world.step();
  CHECK(world.pins.count() == 1);
  CHECK(world.kv.census().pinned == 0);  // the turn references the same blocks
}

TEST_CASE("an expired pin is dropped although its job's next turn waits", "[pins]") {
  PinWorld world(4, {}, 20ms);
  world.turn(1, 0, 8, true, 9);
  world.step();
  world.pinned_turn(0, 0, 3);
  world.turn(0, 1, 8);
  world.pass(20ms);
  world.schedule();
  CHECK(world.waiting() == "0.1");
  CHECK(world.pin_events().back() == "unpin 0.0 ttl");
}

TEST_CASE("an expired pin is protected while its job's next turn waits", "[pins]") {
  PinWorld world(4, {.protect_waiting = true}, 20ms);
  world.turn(1, 0, 8, true, 5);
  world.step();
  world.pinned_turn(0, 0, 3);
  world.turn(0, 1, 8);
  world.pass(20ms);
  world.step();
  CHECK(world.waiting() == "0.1");
  CHECK(world.pins.count() == 1);
  while (world.waiting() == "0.1") world.step();
  CHECK(world.pin_events()[1] == "keep_declined 1.0 last_turn");
  CHECK(world.pin_events()[2] == "unpin 0.0 ttl");
}

TEST_CASE("aborting the next turn ends the job's pin", "[pins]") {
  PinWorld world(10);
  world.pinned_turn(0, 0, 8);
  world.abort(world.turn(0, 1, 4));
  CHECK(world.pins.count() == 0);
  CHECK(world.pin_events().back() == "unpin 0.0 job_end");
  CHECK(world.kv.num_free() == 10);
}

TEST_CASE("with nothing running pins are released for the head of the queue at once", "[pins]") {
  PinWorld world(6, {}, 1h);
  world.pinned_turn(0, 0, 8);
  world.pinned_turn(1, 0, 8);
  world.events_since_last();
  world.turn(2, 0, 20, true);
  CHECK(world.step() == "2.0:20");
  CHECK(world.events_since_last() == Events{"unpin 1.0 pressure_admit", "unpin 0.0 pressure_admit",
                                            "keep_declined 2.0 last_turn"});
}

TEST_CASE("no more pins are released than the head of the queue needs", "[pins]") {
  PinWorld world(6, {}, 1h);
  world.pinned_turn(0, 0, 8);
  world.pinned_turn(1, 0, 8);
  world.turn(2, 0, 12, true);
  world.step();
  CHECK(world.pins.count() == 1);
}

TEST_CASE("pins are not released for the queue while a request runs", "[pins]") {
  PinWorld world(6, {}, 1h);
  world.pinned_turn(0, 0, 8);
  world.turn(1, 0, 4, true, 50);
  world.step();
  world.turn(2, 0, 12, true);
  CHECK(world.step() == "1.0:1");
  CHECK(world.pins.count() == 1);
}

TEST_CASE("pins are released for the only running request rather than preempt it", "[pins]") {
  PinWorld world(4, {}, 1h);
  world.pinned_turn(0, 0, 8);
  world.turn(1, 0, 8, true, 3);
  world.step();
  CHECK(world.step() == "1.0:1");
  CHECK(world.preempted() == "");
  CHECK(world.pin_events().back() == "unpin 0.0 pressure_run");
}

TEST_CASE("with others running a request is preempted before a pin is released", "[pins]") {
  PinWorld world(6, {}, 1h);
  world.pinned_turn(0, 0, 8);
  world.turn(1, 0, 8, true, 3);
  world.turn(2, 0, 8, true, 3);
  world.step();
  CHECK(world.step() == "1.0:1");
  CHECK(world.preempted() == "2.0");
  CHECK(world.pins.count() == 1);
}

TEST_CASE("under pressure the pin of the latest job is released first", "[pins]") {
  PinWorld world(6, {.pressure_victim = engine::PressureVictim::latest_job}, 1h);
  world.pinned_turn(3, 0, 8);
  world.pinned_turn(1, 0, 8);
  world.turn(2, 0, 12, true);
  world.step();
  CHECK(world.pin_events()[2] == "unpin 3.0 pressure_admit");
}

TEST_CASE("under pressure the pin with the latest deadline is released first if configured",
          "[pins]") {
  PinWorld world(6, {.pressure_victim = engine::PressureVictim::latest_deadline}, 1h);
  world.pinned_turn(3, 0, 8);
  world.pinned_turn(1, 0, 8);
  world.turn(2, 0, 12, true);
  world.step();
  CHECK(world.pin_events()[2] == "unpin 1.0 pressure_admit");
}

TEST_CASE("jobs that pin the whole pool and both return make progress", "[pins]") {
  PinWorld world(8, {.protect_waiting = true}, 10ms);
  world.turn(0, 0, 16);
  world.turn(1, 0, 16);
  world.step();
  REQUIRE(world.pins.count() == 2);
  REQUIRE(world.kv.num_free() == 0);
  world.turn(0, 1, 8, true);
  world.turn(1, 1, 8, true);
  world.run_until_idle();
  CHECK(world.kv.num_free() == 8);
}

TEST_CASE("pins hold no more than their share of the pool: a turn is clipped, or refused",
          "[pins]") {
  PinWorld world(10, {.most_of_pool = 0.5}, 1s);
  world.pinned_turn(0, 0, 9);   // three blocks of five
  world.pinned_turn(1, 0, 13);  // four
  CHECK(world.pins.count() == 2);
  CHECK(world.pins.num_blocks() == 5);
  CHECK(world.kv.census().pinned == 5);
  CHECK(world.kv.census().cached == 1);  // the third, in full; the fourth has no content to find
  CHECK(world.blocks_of(engine::KvEventKind::keep_declined, engine::KvReason::no_room) == 2);
  world.pinned_turn(2, 0, 9);
  CHECK(world.pins.count() == 2);
  CHECK(world.blocks_of(engine::KvEventKind::keep_declined, engine::KvReason::no_room) == 5);
  world.turn(0, 1, 4, true);
  world.run_until_idle();
  CHECK(world.pins.num_blocks() == 2);
}
