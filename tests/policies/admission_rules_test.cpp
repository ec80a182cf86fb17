// The published example of each rule, on a table of programs.
#include <deque>

#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/policies/admission/config.hpp"

using policies::Program;
using Phase = Program::Phase;

namespace {

constexpr engine::Nanos kNow{std::chrono::seconds{100}};

/// Programs under a rule, in the order of service.
struct Table {
  explicit Table(const policies::AdmissionConfig& config)
      : rule(policies::make_admission_rule(config)) {}

  Program& add(Phase phase, int tokens, int turns = 2, bool admitted = true) {
    programs.push_back({.root = engine::JobId{static_cast<std::uint32_t>(programs.size())},
                        .phase = phase,
                        .since = kNow,
                        .tokens = tokens,
                        .turns = turns,
                        .admitted = admitted && phase != Phase::held});
    return programs.back();
  }
  void add_held(int number, int tokens, int turns) {
    for (; number > 0; --number) add(Phase::held, tokens, turns);
  }
  void change() { rule->on_change(held_first(), kNow); }
  void tick() { rule->on_timer(held_first(), kNow); }
  /// The admitted programs, by number.
  std::string admitted() const {
    std::string names;
    for (const Program& each : programs)
      if (each.admitted) names += std::to_string(engine::index(each.root)) + ' ';
    return names;
  }

  std::deque<Program> programs;
  std::unique_ptr<policies::AdmissionRule> rule;

 private:
  std::vector<Program*> held_first() {
    std::vector<Program*> all;
    for (const bool held : {true, false})
      for (Program& each : programs)
        if (each.held() == held) all.push_back(&each);
    return all;
  }
};

/// Contexts may fill the pool, and no first turn is held back for longer than 20 s.
const policies::AdmissionConfig kBounded = {
    .rule = "working_set",
    .pool_tokens = 1000,
    .parameters = {{"pool_share", 1.0}, {"first_wait_s", 20.0}}};

}  // namespace

TEST_CASE("thunder pauses the smallest program in its tool until contexts fit, and then waits",
          "[admission]") {
  Table table({.rule = "thunder", .pool_tokens = 1000});
  Program& a = table.add(Phase::tool, 300);
  Program& b = table.add(Phase::tool, 200);
  Program& d = table.add(Phase::running, 400);
  table.add(Phase::running, 300);
  table.tick();
  CHECK(table.admitted() == "2 3 ");
  d.phase = Phase::tool;
  d.tokens = 420;
  table.tick();
  CHECK(table.admitted() == "2 3 ");  // free are 80 tokens, less than one program's margin
  table.programs.erase(table.programs.begin() + 2);
  b.phase = Phase::held;
  table.tick();
  CHECK(b.admitted);
  CHECK_FALSE(a.admitted);  // 400 of 300 that are left
}

TEST_CASE("a first turn that has waited long enough is served whatever the room, and only that one",
          "[admission]") {
  Table table(kBounded);
  table.add(Phase::running, 900);
  Program& first = table.add(Phase::held, 300, 1);
  Program& later = table.add(Phase::held, 300, 3);
  first.since = later.since = kNow - std::chrono::seconds{19};
  table.change();
  CHECK(table.admitted() == "0 ");
  first.since = later.since = kNow - std::chrono::seconds{20};
  table.change();
  CHECK(table.admitted() == "0 1 ");
  first.phase = Phase::queued;
  table.change();
  CHECK(table.admitted() == "0 ");  // its next turn waits for room
}

TEST_CASE("a first turn that has waited long enough is served while another turn goes on",
          "[admission]") {
  Table table(kBounded);
  table.add(Phase::running, 900);
  Program& first = table.add(Phase::held, 300, 1);
  first.since = kNow - std::chrono::seconds{19};
  table.tick();
  CHECK(table.admitted() == "0 ");
  first.since = kNow - std::chrono::seconds{20};
  table.tick();
  CHECK(table.admitted() == "0 1 ");
  CHECK(table.rule->period() == std::chrono::milliseconds{100});
}

TEST_CASE("without a bound on the first wait working_set looks at no clock", "[admission]") {
  CHECK(Table({.rule = "working_set", .pool_tokens = 1000}).rule->period() == engine::Nanos{0});
}

TEST_CASE("a hint counts without the prefix that another program has counted", "[admission]") {
  Table table({.rule = "working_set",
               .pool_tokens = 1000,
               .last_context = [](engine::JobId) { return 500; },
               .parameters = {{"pool_share", 1.0}, {"horizon", std::string("hint")}}});
  for (const int common : {0, 200, 300, 300}) {
    Program& program = table.add(Phase::held, 400 - common, 1);
    program.common = common;
  }
  table.change();
  CHECK(table.admitted() == "0 1 2 ");  // 500, 300 and 200; another 200 do not fit
}

TEST_CASE("a first turn that has waited long enough is no guest where there is room for it",
          "[admission]") {
  Table table(kBounded);
  for (int i = 0; i < 2; ++i) table.add(Phase::held, 300, 1);
  for (Program& each : table.programs) each.since = kNow - std::chrono::seconds{20};
  table.change();
  CHECK(table.admitted() == "0 1 ");
  for (Program& each : table.programs) each.phase = Phase::tool;
  table.change();
  CHECK(table.admitted() == "0 ");  // each 600 after one more turn: the other was a guest
}

TEST_CASE("thunder marks running programs only as far as contexts do not fit otherwise",
          "[admission]") {
  Table table({.rule = "thunder", .pool_tokens = 1000});
  table.add(Phase::running, 500);
  table.add(Phase::queued, 200);
  table.add(Phase::running, 300);
  table.tick();
  CHECK(table.admitted() == "0 2 ");
  table.tick();
  CHECK(table.admitted() == "0 2 ");  // the mark counts as room
}

TEST_CASE("thunder resumes waiting programs before new ones, the smallest first, and all that fit",
          "[admission]") {
  Table table({.rule = "thunder", .pool_tokens = 1000});
  table.add(Phase::held, 100, 1);
  table.add(Phase::held, 500, 2);
  table.add(Phase::held, 700, 2);
  table.add(Phase::held, 150, 3);
  table.add(Phase::tool, 100, 3, false);
  table.tick();
  CHECK(table.admitted() == "1 3 ");
}

TEST_CASE("thunder lets a new program begin at once only where none is paused", "[admission]") {
  Table table({.rule = "thunder", .pool_tokens = 1000});
  table.add(Phase::held, 300, 1);
  table.add(Phase::held, 800, 1);
  table.change();
  CHECK(table.admitted() == "0 ");
  Table paused({.rule = "thunder", .pool_tokens = 1000});
  paused.add(Phase::held, 300, 1);
  paused.add(Phase::tool, 300, 2, false);
  paused.change();
  CHECK(paused.admitted() == "");
}

TEST_CASE("thunder resumes a program that has waited for half an hour", "[admission]") {
  Table table({.rule = "thunder", .pool_tokens = 1000});
  table.add(Phase::running, 900);
  table.add(Phase::held, 500).since = kNow - std::chrono::seconds{1800};
  table.add(Phase::held, 400).since = kNow - std::chrono::seconds{1799};
  table.tick();
  CHECK(table.programs[1].admitted);
  CHECK_FALSE(table.programs[2].admitted);
}

TEST_CASE("a working set of contexts after one more turn admits six programs of 100 tokens",
          "[admission]") {
  Table table({.rule = "working_set", .pool_tokens = 1000});
  table.add_held(9, 100, 2);  // 50 tokens a turn
  table.change();
  CHECK(table.admitted() == "0 1 2 3 4 5 ");
}

TEST_CASE("a working set of contexts at the end admits three programs that end at 300 tokens",
          "[admission]") {
  Table table(
      {.rule = "working_set", .pool_tokens = 1000, .parameters = {{"horizon", "mean_end"}}});
  Program ended;
  ended.tokens = 300;
  ended.turns = 6;
  table.rule->on_end(ended);
  table.add_held(9, 100, 2);
  table.change();
  CHECK(table.admitted() == "0 1 2 ");
}

TEST_CASE("a working set by hints knows the last context of each program", "[admission]") {
  const auto hint = [](engine::JobId job) { return engine::index(job) == 0 ? 800 : 90; };
  Table table({.rule = "working_set",
               .pool_tokens = 1000,
               .last_context = hint,
               .parameters = {{"horizon", "hint"}}});
  table.add_held(9, 50, 1);
  table.change();
  CHECK(table.admitted() == "0 1 ");
}

TEST_CASE("a working set never lets a later program pass the first that does not fit",
          "[admission]") {
  Table table({.rule = "working_set", .pool_tokens = 1000, .parameters = {{"pool_share", 1.0}}});
  table.add(Phase::running, 500, 500);
  table.add(Phase::held, 600, 600);
  table.add(Phase::held, 10, 10);
  table.change();
  CHECK(table.admitted() == "0 ");
}

TEST_CASE("a working set that has outgrown the pool pauses the last program in its tool",
          "[admission]") {
  Table table({.rule = "working_set", .pool_tokens = 1000});
  for (const Phase phase : {Phase::tool, Phase::tool, Phase::running}) table.add(phase, 400);
  table.change();
  CHECK(table.admitted() == "0 2 ");
}

TEST_CASE("by quota a returning turn precedes first turns that fill more than their share",
          "[admission]") {
  Table table({.rule = "quota", .pool_tokens = 100});
  table.add(Phase::running, 35, 1);
  table.add(Phase::running, 60, 2);
  table.add(Phase::held, 5, 1);
  table.add(Phase::held, 10, 2);
  table.change();
  CHECK(table.admitted() == "");  // no room for it yet, and none passes it
  table.programs[1].phase = Phase::tool;
  table.change();
  CHECK(table.admitted() == "2 3 ");
  CHECK(table.programs[0].admitted == false);  // its next turn is admitted anew
}

TEST_CASE("by quota first turns may fill the pool while no other turn waits", "[admission]") {
  Table table({.rule = "quota", .pool_tokens = 100});
  table.add_held(5, 25, 1);
  table.change();
  CHECK(table.admitted() == "0 1 2 3 ");
}

TEST_CASE("a rule by contexts needs the size of the pool", "[admission]") {
  for (const char* rule : {"working_set", "thunder", "quota"})
    CHECK_THROWS_AS(policies::make_admission_rule({.rule = rule}), engine::InputError);
}
