#include "analysis/trace/trace.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"

namespace {

std::vector<nlohmann::json> events_of(const HandMadeCell& cell) {
  std::ostringstream text;
  analysis::write_perfetto(cell.result(), text);
  return nlohmann::json::parse(text.str()).at("traceEvents");
}

}  // namespace

TEST_CASE("a trace for Perfetto has a slice for each step and counters of requests and blocks") {
  int slices = 0, counters = 0;
  for (const auto& event : events_of(three_jobs())) {
    if (event["ph"] == "X" && event["name"] == "step") {
      CHECK(event["ts"] == 1e6 * slices);
      CHECK(event["dur"] == 1e6);
      ++slices;
    }
    if (event["ph"] == "C" && event["name"] == "KV blocks") {
      ++counters;
      CHECK(event["args"].contains("pinned"));
    }
  }
  CHECK(slices == static_cast<int>(three_jobs().steps.size()));
  CHECK(counters == slices);
}

TEST_CASE(
    "a trace for Perfetto has a track for each job, with the parts of its turns in sequence") {
  HandMadeCell cell;
  cell.job("astropy \"7\"");
  cell.step(0, 1, 0);
  sweep::TurnRow& turn = cell.turn(0, 0, 2, 5);
  turn.queue_s = 1;
  turn.prefill_s = 0.5;
  turn.decode_s = 1.5;
  turn.gap_s = 0;
  std::vector<std::tuple<std::string, double, double>> parts;
  bool is_named = false;
  for (const auto& event : events_of(cell)) {
    if (event["name"] == "thread_name" && event["args"]["name"] == "astropy \"7\"") is_named = true;
    if (event["ph"] == "X" && event["pid"] == 2)
      parts.emplace_back(event["name"], event["ts"], event["dur"]);
  }
  CHECK(is_named);
  CHECK(parts == std::vector<std::tuple<std::string, double, double>>{
                     {"queue", 2e6, 1e6}, {"prefill", 3e6, 5e5}, {"decode", 3.5e6, 1.5e6}});
}
