
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "analysis/text/web_page.hpp"
#include "analysis/trace/trace.hpp"
#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"

using namespace analysis;
using sweep::SchedKind;

namespace {

/// Two jobs of a turn each: b waits, is admitted, is preempted and comes back.
HandMadeCell two_jobs() {
  HandMadeCell cell;
  cell.job("a");
  cell.job("<b>");
  cell.turn(0, 0, 0, 4);
  cell.turn(1, 0, 0, 6);
  cell.step(0, 1, 1);
  cell.schedule(0, 0, SchedKind::fresh, 100);
  cell.step(1, 2, 0);
  cell.schedule(0, 0, SchedKind::running);
  cell.schedule(1, 0, SchedKind::fresh, 50);
  cell.step(2, 1, 1);
  cell.schedule(0, 0, SchedKind::running);
  cell.schedule(1, 0, SchedKind::preempted, 0);
  cell.step(3, 1, 1);
  cell.schedule(0, 0, SchedKind::running);
  cell.step(4, 1, 0);
  cell.schedule(1, 0, SchedKind::resumed, 50);
  cell.step(5, 1, 0);
  cell.schedule(1, 0, SchedKind::running);
  std::int32_t computed = 100;
  for (sweep::SchedRow& row : cell.sched) {
    if (row.job == 0 && row.kind == SchedKind::running) row.computed_before = computed++;
  }
  return cell;
}

}  // namespace

TEST_CASE("a trace page is JSON with the identity and the JSON lines of every cell") {
  const sweep::CellResult result = two_jobs().result();
  sweep::CellRecord record;
  record.label = "policy=\"x\"";
  const TracedCell cells[] = {{record, result}, {record, result}};
  const nlohmann::json page = nlohmann::json::parse(trace_page("a.h5", cells));
  CHECK(page.at("archive") == "a.h5");
  REQUIRE(page.at("cells").size() == 2);
  const nlohmann::json& cell = page.at("cells").at(1);
  CHECK(cell.at("label") == "policy=\"x\"");
  std::ostringstream lines;
  write_steps(result, lines);
  write_events(result, lines);
  write_requests(result, lines);
  const std::string text = lines.str();
  CHECK(cell.at("deflated") == packed(text));
}

TEST_CASE("data of a page is small") { CHECK(packed(std::string(1000, 'a')).size() < 100); }

TEST_CASE("base64 pads to whole groups of four") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64(std::string_view("\xff\xfe\xfd\0", 4)) == "//79AA==");
}
