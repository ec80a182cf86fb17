#include "tests/policies/calibration.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/policies/estimators/gap_forecast.hpp"
#include "workers/workload/input/json_lines.hpp"

using policies::Calibration;
using policies::TimedCall;

namespace {

const char* kEstimators[] = {"tool_mean", "tool_cdf", "lognormal"};

/// Calls of two tools with lognormal durations.
std::vector<TimedCall> made_up_calls(int jobs) {
  const auto ls = policies::GapForecast::lognormal(-2, 0.4, policies::Evidence::tool),
             pytest = policies::GapForecast::lognormal(1.5, 1.0, policies::Evidence::tool);
  support::Dice dice(17);
  std::vector<TimedCall> calls;
  for (int job = 0; job < jobs; ++job) {
    for (int turn = 0; turn < 10; ++turn) {
      const bool slow = dice.one_in(4);
      const double p = (dice.between(1, 9999)) / 10'000.0;
      calls.push_back({"job-" + std::to_string(job), slow ? "pytest" : "ls",
                       engine::to_seconds((slow ? pytest : ls).quantile(p))});
    }
  }
  return calls;
}

/// A file without its packing.
std::string unpacked(const support::TempDir& folder, const std::filesystem::path& path) {
  const std::string plain = (folder.path() / "plain").string();
  const std::string command = "xz -dc '" + path.string() + "' > '" + plain + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  return plain;
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

/// Rows with a timed tool: source, id, turn, tool, ..., exec_s in the ninth column.
std::vector<TimedCall> timed_turns(const std::string& path) {
  std::vector<TimedCall> calls;
  workload::LineReader lines(path);
  for (lines.next(); const auto line = lines.next();) {
    const auto fields = fields_of(*line);
    if (fields[8].empty() || std::stod(fields[8]) <= 0) continue;
    calls.push_back({fields[0] + '/' + fields[1], fields[3], std::stod(fields[8])});
  }
  return calls;
}

/// Reads model, tool, tool_exec_s, llm_latency_s, input_tokens. Rows are in the order in which they
/// were logged, without a name for the run. A new run begins where the model changes or the input
/// gets shorter.
std::vector<TimedCall> logged_calls(const std::string& path) {
  std::vector<TimedCall> calls;
  workload::LineReader lines(path);
  std::string model;
  int run = 0, input = 0;
  for (lines.next(); const auto line = lines.next();) {
    const auto fields = fields_of(*line);
    const int now = std::stoi(fields[4]);
    if (fields[0] != model || now < input) ++run;
    model = fields[0];
    input = now;
    if (std::stod(fields[2]) > 0)
      calls.push_back({model + '/' + std::to_string(run), fields[1], std::stod(fields[2])});
  }
  return calls;
}

void print(const char* set, const std::vector<TimedCall>& calls) {
  for (const char* estimator : kEstimators) {
    for (const Calibration& row : calibrate(calls, {.name = estimator})) {
      std::printf("| %s | %s | %s | %d | %d | %.3f | %.0f | %.0f | %.0f | %.1f |\n", set,
                  row.tool.c_str(), estimator, row.calls, row.silent, row.pinball_s,
                  100 * row.within50, 100 * row.within80, 100 * row.within95, row.spread80);
    }
  }
}

}  // namespace

TEST_CASE("trajectories are held out whole, by their name, at the share asked for",
          "[calibration]") {
  int held_out = 0;
  for (int job = 0; job < 2000; ++job)
    held_out += policies::is_held_out("job-" + std::to_string(job), 0.3);
  CHECK(held_out == Approx(600).margin(60));
  CHECK_FALSE(policies::is_held_out("anything", 0));
  CHECK(policies::is_held_out("anything", 1));
}

TEST_CASE("a fit of the right family covers what its intervals promise", "[calibration]") {
  const Calibration all = calibrate(made_up_calls(400), {.name = "lognormal"}).front();
  CHECK(all.tool == "all");
  CHECK(all.silent == 0);
  CHECK(all.within50 == Approx(0.50).margin(0.05));
  CHECK(all.within80 == Approx(0.80).margin(0.05));
  CHECK(all.within95 == Approx(0.95).margin(0.03));
}

TEST_CASE("a distribution loses less than one number", "[calibration]") {
  const auto calls = made_up_calls(400);
  const double mean = calibrate(calls, {.name = "tool_mean"}).front().pinball_s;
  CHECK(calibrate(calls, {.name = "lognormal"}).front().pinball_s < mean);
  CHECK(calibrate(calls, {.name = "tool_cdf"}).front().pinball_s < mean);
}

TEST_CASE("an injected error shows in the loss", "[calibration]") {
  const auto calls = made_up_calls(200);
  const policies::EstimatorConfig biased{.name = "lognormal", .error = {.bias = 4}};
  CHECK(calibrate(calls, biased).front().pinball_s >
        1.3 * calibrate(calls, {.name = "lognormal"}).front().pinball_s);
}

TEST_CASE("tools with enough held-out calls have a row of their own", "[calibration]") {
  auto calls = made_up_calls(100);
  calls.push_back({"job-0", "rare", 1});
  const auto rows = calibrate(calls, {.name = "tool_mean"});
  REQUIRE(rows.size() == 3);
  CHECK((rows[1].tool == "ls" && rows[2].tool == "pytest"));
  CHECK(rows[1].calls + rows[2].calls <= rows[0].calls);
  CHECK(rows[0].calls - rows[1].calls - rows[2].calls <= 1);
}

TEST_CASE("a tool that was never seen in training is met with silence by its mean",
          "[calibration]") {
  std::vector<TimedCall> calls = made_up_calls(50);
  for (TimedCall& call : calls)
    if (policies::is_held_out(call.job, 0.3)) call.tool = "new";
  const Calibration all = calibrate(calls, {.name = "tool_mean"}).front();
  CHECK(all.silent == all.calls);
  CHECK(all.spread80 == Approx(std::log(0.1) / std::log(0.9)));  // of an exponential
}

TEST_CASE("on recorded tool times distributions cover what a mean misses", "[calibration]") {
  const auto turns = support::shared_path("data/tool-times/turn_table_all.csv.xz");
  if (!turns) SKIP_TEST("needs recorded tool times");
  const support::TempDir folder;
  const auto calls = timed_turns(unpacked(folder, *turns));
  CHECK(calls.size() == 957);
  const double mean = calibrate(calls, {.name = "tool_mean"}).front().pinball_s;
  for (const std::string name : {"tool_cdf", "lognormal"}) {
    const Calibration row = calibrate(calls, {.name = name}).front();
    CHECK(row.pinball_s < 0.7 * mean);
    CHECK((row.within80 > 0.75 && row.within95 > 0.9));
  }
}

TEST_CASE("a log's runs are told apart by their growing input", "[calibration]") {
  const auto log = support::shared_path("data/tool-times/sweagent_log_tool_times.csv");
  if (!log) SKIP_TEST("needs recorded tool times");
  const auto calls = logged_calls(log->string());
  std::set<std::string> runs;
  for (const TimedCall& call : calls) runs.insert(call.job);
  CHECK(calls.size() > 1300);
  CHECK(runs.size() == 298);
  CHECK(calibrate(calls, {.name = "lognormal"}).front().within95 > 0.9);
}

TEST_CASE("print the table of calibrations on recorded tool times", "[.calibration_table]") {
  const auto turns = support::shared_path("data/tool-times/turn_table_all.csv.xz"),
             log = support::shared_path("data/tool-times/sweagent_log_tool_times.csv");
  if (!turns || !log) SKIP_TEST("needs recorded tool times");
  const support::TempDir folder;
  print("turn table", timed_turns(unpacked(folder, *turns)));
  print("SWE-agent log", logged_calls(log->string()));
}
