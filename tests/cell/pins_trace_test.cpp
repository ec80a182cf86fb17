#include <array>
#include <optional>
#include <set>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "workers/record/recorder.hpp"

using support::Cell;
using support::ints;
using support::longs;
using support::reals;

namespace {

using Kind = sweep::KvEventKind;
using Reason = sweep::KvReason;

struct Event {
  std::int64_t step;
  double at_s, deadline_s;
  int job, turn, blocks;
  Kind kind;
  Reason reason;
};

std::vector<Event> events_of(const sweep::CellResult& result) {
  const sweep::Table& t = result.kv_events;
  std::vector<Event> events;
  for (std::size_t row = 0; row < t.rows(); ++row) {
    events.push_back({longs(t, "step")[row], reals(t, "t_s")[row], reals(t, "deadline_s")[row],
                      ints(t, "job")[row], ints(t, "turn")[row], ints(t, "blocks")[row],
                      static_cast<Kind>(t.values<std::int8_t>("kind")[row]),
                      static_cast<Reason>(t.values<std::int8_t>("reason")[row])});
  }
  return events;
}

/// What became of each pin, in the order of the unpins.
struct Pinned {
  Event pin;
  std::optional<Event> unpin;
};

/// Fails the test when a job is pinned twice at once or unpinned without a pin.
std::vector<Pinned> pins_of(const sweep::CellResult& result) {
  std::map<int, Event> held;
  std::vector<Pinned> pins;
  for (const Event& event : events_of(result)) {
    if (event.kind == Kind::pin) {
      REQUIRE(held.emplace(event.job, event).second);
    } else if (event.kind == Kind::unpin) {
      REQUIRE(held.contains(event.job));
      pins.push_back({held.at(event.job), event});
      held.erase(event.job);
    }
  }
  for (const auto& [job, pin] : held) pins.push_back({pin, std::nullopt});
  return pins;
}

Cell continuum() {
  Cell cell;
  cell.set("policy", "continuum").set("jps", 8).set("sim.cost_model", "published");
  return cell.set("workload.jobs", 16).set("engine.kv_tokens", 60'000);
}

/// Every tool outlasts its pin.
Cell slow_tools() { return continuum().set("workload.gap_s", 3.0).set("policy.threshold_s", 10); }

int count(const std::vector<Event>& events, Kind kind) {
  return static_cast<int>(std::ranges::count(events, kind, &Event::kind));
}

}  // namespace

TEST_CASE("pins that have a share of the pool are whole, in part or declined") {
  support::Cell cell = support::crowded("continuum");
  struct Outcomes {
    int pins = 0, without_room = 0;                        // events
    std::set<std::pair<int, int>> pinned, declined, both;  // turns
  };
  const auto outcomes = [&](double share) {
    const sweep::CellResult result = cell.set("policy.pin_share", share).run();
    CHECK(support::figure(result, "jobs") == 16);
    Outcomes seen;
    for (const Event& event : events_of(result)) {
      const bool declined = event.kind == Kind::keep_declined && event.reason == Reason::no_room;
      if (event.kind != Kind::pin && !declined) continue;
      ++(declined ? seen.without_room : seen.pins);
      (declined ? seen.declined : seen.pinned).emplace(event.job, event.turn);
    }
    std::ranges::set_intersection(seen.pinned, seen.declined,
                                  std::inserter(seen.both, seen.both.end()));
    return seen;
  };
  const Outcomes half = outcomes(0.5), none = outcomes(0);
  const auto in_part = std::ssize(half.both);
  CHECK(in_part > 0);
  CHECK(half.pins > in_part);
  CHECK(half.without_room > in_part);
  CHECK(none.pins == 0);
  CHECK(none.without_room > 20);
  CHECK(cell.set("policy.pin_share", 1.0).identity() ==
        cell.without("policy.pin_share").identity());
}

TEST_CASE("every pin of continuum ends with a reason of its own, its turn and its blocks") {
  for (const Cell& cell : {continuum(), slow_tools()}) {
    const auto pins = pins_of(cell.run());
    REQUIRE(pins.size() > 50);
    for (const auto& [pin, unpin] : pins) {
      REQUIRE(unpin);  // every job ends, and with it its pin
      CHECK(unpin->turn == pin.turn);
      CHECK(unpin->blocks == pin.blocks);
      CHECK(unpin->deadline_s == pin.deadline_s);
      CHECK(unpin->reason != Reason::none);
      CHECK(pin.blocks > 0);
      CHECK((pin.reason == Reason::known_tool || pin.reason == Reason::unseen_tool));
    }
  }
}

TEST_CASE("a pin's deadline is its time to live after the last token") {
  const sweep::CellResult result = continuum().set("policy.ttl_s", 2.5).run();
  const auto rows = support::turn_rows(result);
  for (const auto& [pin, unpin] : pins_of(result)) {
    const double finish_s = reals(result.turns, "t_finish_s")[rows.at({pin.job, pin.turn})];
    CHECK(pin.at_s == Approx(finish_s).margin(1e-9));
    CHECK(pin.deadline_s == Approx(finish_s + 2.5).margin(1e-9));
  }
}

TEST_CASE("a pin whose tool outlasts it ends in the first step that begins after its deadline") {
  const sweep::CellResult result = slow_tools().run();
  const auto& starts = reals(result.steps, "t_s");
  int expired = 0;
  for (const auto& [pin, unpin] : pins_of(result)) {
    if (!unpin || unpin->reason != Reason::ttl) continue;
    ++expired;
    const auto first = std::ranges::lower_bound(starts, pin.deadline_s - 5e-10);
    REQUIRE(first != starts.end());
    CHECK(unpin->at_s == Approx(*first).margin(1e-9));
  }
  CHECK(expired > 50);
}

TEST_CASE("between the turns of a lone agent its KV is held for the time of a pin or of the tool") {
  constexpr double kTtlS = 2;
  for (const double gap_s : {0.5, 5.0}) {
    INFO("gap " << gap_s);
    Cell cell = continuum().set("workload.jobs", 1).set("policy.threshold_s", 10);
    const sweep::CellResult result = cell.set("workload.gap_s", gap_s).run();
    double held_tok_s = 0;
    for (const auto& [pin, unpin] : pins_of(result)) {
      REQUIRE(unpin);
      if (gap_s > kTtlS) CHECK(unpin->at_s == Approx(pin.deadline_s).margin(1e-9));
      held_tok_s += 16 * pin.blocks * std::min(gap_s, kTtlS);
    }
    REQUIRE(held_tok_s > 0);
    // The next turn computes what the last block of a pin lacks in one of its own.
    CHECK(support::figure(result, "gap_held_tok_s") == Approx(held_tok_s).epsilon(0.01));
  }
}

TEST_CASE("a turn that keeps nothing says why") {
  const sweep::CellResult result = slow_tools().set("policy.threshold_s", 2).run();
  std::map<Reason, int> reasons;
  for (const Event& event : events_of(result))
    if (event.kind == Kind::keep_declined) ++reasons[event.reason];
  CHECK(reasons[Reason::last_turn] == 16);
  CHECK(reasons[Reason::slow_tool] > 0);
  // A turn either pins or declines.
  const auto events = events_of(result);
  CHECK(count(events, Kind::pin) + count(events, Kind::keep_declined) ==
        static_cast<int>(result.turns.rows()));
}

TEST_CASE("each step counts the pins that are held while it executes") {
  const sweep::CellResult result = continuum().run();
  const auto& starts = reals(result.steps, "t_s");
  std::map<std::int64_t, int> change;  // by the step that shows it
  for (const auto& [pin, unpin] : pins_of(result)) {
    ++change[pin.step + 1];  // turns end with their step
    if (!unpin) continue;
    const bool before_execution = unpin->at_s == starts[static_cast<std::size_t>(unpin->step - 1)];
    --change[before_execution ? unpin->step : unpin->step + 1];
  }
  int held = 0, different = 0, most = 0;
  for (std::size_t row = 0; row < result.steps.rows(); ++row) {
    held += change[longs(result.steps, "step")[row]];
    different += ints(result.steps, "pinned_jobs")[row] == held ? 0 : 1;
    most = std::max(most, held);
  }
  CHECK(most > 1);
  CHECK(different == 0);
}

TEST_CASE("policies without retention pin nothing, and lose blocks all the same") {
  for (const std::string policy : {"fcfs", "job_fcfs"}) {
    const auto events = events_of(continuum().set("policy", policy).run());
    CHECK(count(events, Kind::pin) == 0);
    CHECK(count(events, Kind::unpin) == 0);
    CHECK(count(events, Kind::evict_gpu) > 0);
  }
}

TEST_CASE("a reason that a rule declares is recorded by its name, after the archive's own") {
  workload::Workload workload;
  workload.jobs.resize(1);
  workload.jobs[0].turns.resize(1);
  worker::Recorder recorder(workload, 0, 16, {"waited", "hurried"});
  engine::StepPlan plan;
  const engine::KvReason second{static_cast<std::uint8_t>(sweep::kReasonsOfRules) + 1};
  const std::array events = {engine::KvEvent{engine::KvEventKind::pin, engine::KvReason::waste,
                                             engine::JobId{0}, 0, 1, engine::JobId{0}, 0},
                             engine::KvEvent{engine::KvEventKind::pin, second, engine::JobId{0}, 0,
                                             1, engine::JobId{0}, 0}};
  engine::StepTrace trace;
  trace.plan = &plan;
  trace.kv_events = events;
  recorder.on_step(trace);
  const sweep::CellResult result = recorder.take_tables();
  const sweep::Column& reasons = result.kv_events.column("reason");
  const auto& codes = std::get<std::vector<std::int8_t>>(reasons.data);
  CHECK(reasons.enum_names.at(static_cast<std::size_t>(codes.at(0))) == "waste");
  CHECK(reasons.enum_names.at(static_cast<std::size_t>(codes.at(1))) == "hurried");
  CHECK_THROWS_WITH(worker::Recorder(workload, 0, 16, {"rent"}),
                    "a rule declares the reason \"rent\", which the archive has for another");
}
