// When the turns of a recorded program start, and what of it is replayed.
#include "tests/cell/one_session.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/random_sessions.hpp"

using support::Cell;
using support::ints;
using support::one_after_the_other;
using support::reals;
using trace_test::TraceText;
using trace_test::TurnText;

namespace {

/// A job of `turns` turns which start every 100 s, take 30 s, and come 20 s after the one before.
void add_steady(TraceText& text, const std::string& id, int turns) {
  std::vector<TurnText> made;
  std::vector<std::pair<std::string, int>> prompt;
  for (int turn = 0; turn < turns; ++turn) {
    prompt.emplace_back('"' + id + std::to_string(turn) + '"', 64);
    made.push_back(
        {prompt, 5,
         ", \"start_s\": " + std::to_string(100 * turn) + ", \"api_s\": 30, \"gap_s\": 20"});
  }
  text.job(id, made);
}

std::string steady_session(const std::string& id, int turns) {
  TraceText text;
  add_steady(text, id, turns);
  return text.str();
}

/// Times from the end of each turn to the arrival of the next, or from arrival to arrival.
std::vector<double> times_between(const sweep::CellResult& result, const std::string& from) {
  std::vector<double> times;
  for (std::size_t i = 1; i < result.turns.rows(); ++i)
    times.push_back(reals(result.turns, "t_arrive_s")[i] - reals(result.turns, from)[i - 1]);
  return times;
}

bool all_near(const std::vector<double>& times, double expected) {
  return !times.empty() &&
         std::ranges::all_of(times, [&](double t) { return std::abs(t - expected) < 1e-6; });
}

}  // namespace

TEST_CASE("the pacing decides what a gap is; then come the scale and the cap") {
  const support::TempDir folder;
  const Cell cell = one_after_the_other(folder.write("t.jsonl", steady_session("a", 5)));
  const auto paced = [&](const char* pacing) { return Cell(cell).set("workload.pacing", pacing); };
  CHECK(all_near(times_between(paced("think").run(), "t_finish_s"), 20));
  CHECK(all_near(times_between(paced("end_to_start").run(), "t_finish_s"), 70));
  CHECK(all_near(times_between(paced("recorded").run(), "t_arrive_s"), 100));
  CHECK(all_near(times_between(paced("think").set("workload.time_scale", 2.0).run(), "t_finish_s"),
                 40));
  CHECK(all_near(times_between(paced("think").set("workload.gap_cap_s", 7.0).run(), "t_finish_s"),
                 7));
  // Of the 100 s, 70 s are idle; the cap leaves 10 s of them.
  CHECK(all_near(
      times_between(paced("recorded").set("workload.gap_cap_s", 10.0).run(), "t_arrive_s"), 40));
}

TEST_CASE("a session that is too long is left out, or cut before the turn that is") {
  const support::TempDir folder;
  TraceText text;
  add_steady(text, "long", 40);
  add_steady(text, "short", 10);
  const std::string path = folder.write("t.jsonl", text.str());
  Cell cell = one_after_the_other(path).set("workload.max_context", 1024);
  const sweep::CellResult dropped = cell.run();
  REQUIRE(dropped.jobs.rows() == 1);
  CHECK(dropped.jobs.values<std::string>("id")[0] == "short");
  const sweep::CellResult cut = cell.set("workload.too_long", "cut").run();
  REQUIRE(cut.jobs.rows() == 2);
  CHECK(ints(cut.jobs, "n_turns")[0] == 15);  // 64 * 15 + 5 tokens fit, 64 * 16 + 5 do not
}

TEST_CASE("a session that starts inside first computes the prefix of its first turn") {
  const support::TempDir folder;
  TraceText sessions;
  for (int i = 0; i < 8; ++i) add_steady(sessions, "s" + std::to_string(i), 30);
  Cell cell = one_after_the_other(folder.write("t.jsonl", sessions.str()));
  cell.set("workload.start", "random").set("workload.window_turns", 4);
  const sweep::CellResult result = cell.run();
  const auto &turn = ints(result.turns, "turn"), &prompt = ints(result.turns, "prompt_tok"),
             &output = ints(result.turns, "output_tok"),
             &hit = ints(result.turns, "cached_gpu_tok");
  int inside = 0;
  for (std::size_t i = 0; i < turn.size(); ++i) {
    if (turn[i] > 0) CHECK(hit[i] == prompt[i] - 64);
    if (turn[i] != 0 || prompt[i] == 64) continue;
    ++inside;
    CHECK(hit[i] == 0);
    CHECK(output[i] == 1);
  }
  CHECK(inside >= 6);
  for (const std::int32_t turns : ints(result.jobs, "n_turns")) CHECK(turns <= 5);
  CHECK(ints(cell.run().turns, "prompt_tok") == prompt);
  CHECK(ints(cell.set("workload.seed", 43).run().turns, "prompt_tok") != prompt);
}

TEST_CASE("the preset of AgentX is what its keys say one by one") {
  const support::TempDir folder;
  const std::string path = folder.write("t.jsonl", steady_session("a", 20));
  Cell preset = one_after_the_other(path).without("workload.arrivals");
  preset.set("workload.preset", "agentx");
  Cell spelled = one_after_the_other(path).set("workload.pacing", "end_to_start");
  spelled.set("workload.gap_cap_s", 10.0).set("workload.start", "random");
  CHECK(reals(preset.run().turns, "t_arrive_s") == reals(spelled.run().turns, "t_arrive_s"));
}

TEST_CASE("a trace without times of its sessions has no recorded arrivals") {
  const support::TempDir folder;
  Cell cell = one_after_the_other(folder.write("t.jsonl", steady_session("a", 2)));
  cell.set("workload.arrivals", "recorded").without("workload.live");
  CHECK_THROWS_WITH(cell.run(), Catch::Matchers::Contains("does not say when its jobs began"));
}

TEST_CASE("each turn starts by what the trace says of it: its gap, or its start") {
  const support::TempDir folder;
  TraceText text;
  text.job("a", {{{{"1", 64}}, 5, ", \"start_s\": 0"},
                 {{{"1", 64}}, 5, ", \"start_s\": 300"},
                 {{{"1", 64}}, 5, ", \"start_s\": 350, \"gap_s\": 7"},
                 {{{"1", 64}}, 5, ", \"gap_s\": 9"},
                 {{{"1", 64}}, 5}});
  Cell cell = one_after_the_other(folder.write("t.jsonl", text.str()));
  for (const auto& [pacing, third_s] : {std::pair("think", 7.0), std::pair("recorded", 50.0)}) {
    INFO(pacing);
    const auto starts = [&, pacing = pacing](const char* from) {
      Cell paced = Cell(cell).set("workload.pacing", pacing).set("workload.gap_fallback_s", 4.0);
      return times_between(paced.run(), from);
    };
    const auto after_start = starts("t_arrive_s"), after_end = starts("t_finish_s");
    CHECK(after_start[0] == Approx(300));
    CHECK((third_s == 7 ? after_end : after_start)[1] == Approx(third_s));
    CHECK(after_end[2] == Approx(9));
    CHECK(after_end[3] == Approx(4));
  }
}

TEST_CASE("a subagent whose start alone is known starts as long after the turn that spawned it") {
  const support::TempDir folder;
  TraceText text;
  const std::string agent = ", \"agent\": \"b\", \"after\": [0]";
  text.job("a", {{{{"1", 64}}, 5, ", \"start_s\": 2"},
                 {{{"1", 64}}, 5, agent + ", \"start_s\": 9"},
                 {{{"1", 64}}, 5, ", \"after\": [0, 1], \"start_s\": 30"}});
  const sweep::CellResult result = one_after_the_other(folder.write("t.jsonl", text.str())).run();
  std::vector<double> starts = reals(result.turns, "t_arrive_s");
  std::ranges::sort(starts);
  CHECK(starts[1] - starts[0] == Approx(7));
  CHECK(starts[2] - starts[0] == Approx(28));
}

TEST_CASE("a trace with times needs no rate, and pacing follows the times that it has") {
  const support::TempDir folder;
  const auto jobs = [&](const std::string& gap) {
    TraceText text;
    for (const int arrival : {0, 4})
      text.job("j" + std::to_string(arrival),
               {{{{"1", 64}}, 5, ", \"start_s\": 0"}, {{{"1", 64}}, 5, ", \"start_s\": 300" + gap}},
               ", \"arrival_s\": " + std::to_string(arrival));
    Cell cell;
    cell.set("workload.kind", "trace").set("workload.path", folder.write("t.jsonl", text.str()));
    return cell.without("jps");
  };
  const sweep::CellResult starts = jobs("").run();
  CHECK(reals(starts.jobs, "t_arrive_s") == std::vector{0.0, 4.0});
  CHECK(all_near({reals(starts.turns, "t_arrive_s").back()}, 304));
  const sweep::CellResult gaps = jobs(", \"gap_s\": 2").run();
  CHECK(reals(gaps.turns, "gap_s").front() == 2);
  CHECK(reals(gaps.turns, "t_arrive_s").back() < 10);
  Cell with_rate = jobs("").set("jps", 0.001);
  CHECK(reals(with_rate.run().jobs, "t_arrive_s")[1] != 4.0);
}

TEST_CASE("a trace without all times of arrival needs a rate") {
  const support::TempDir folder;
  TraceText text;
  text.job("a", {{{{"1", 64}}}}, ", \"arrival_s\": 1").job("b", {{{{"1", 64}}}});
  Cell cell;
  cell.set("workload.kind", "trace").set("workload.path", folder.write("t.jsonl", text.str()));
  CHECK_THAT(cell.without("jps").refusal(),
             Catch::Matchers::Contains("the key \"jps\" is missing; it must be given, since 1 of "
                                       "the 2 jobs of workload.path have no arrival_s"));
}

TEST_CASE("what the converter assumed goes with the result") {
  const support::TempDir folder;
  TraceText text;
  const std::string path = folder.write(
      "t.jsonl", text.job("a", {{{{"1", 64}}}}).str(R"(, "assumed": ["this", "that"])"));
  const sweep::CellResult result = one_after_the_other(path).run();
  const sweep::Note* note = sweep::find_named(result.notes, "assumed");
  REQUIRE(note != nullptr);
  CHECK(note->text == "t.jsonl: assumed: this; that");
}
