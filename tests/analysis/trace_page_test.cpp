#include "analysis/trace_page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/packed_column.hpp"
#include "analysis/queue_replay.hpp"
#include "analysis/trace_columns.hpp"
#include "analysis/trace_spans.hpp"
#include "analysis/turn_names.hpp"
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

std::vector<std::int32_t> turns_at(const TurnSpans& spans, bool running, std::int32_t step) {
  std::vector<std::int32_t> turns;
  for (const TurnStay& stay : spans.stays) {
    if (stay.running == running && stay.first <= step && step <= stay.last)
      turns.push_back(stay.turn);
  }
  std::ranges::sort(turns);
  return turns;
}

std::vector<std::int32_t> sorted(const QueueReplay::Requests& requests) {
  std::vector<std::int32_t> turns(requests.begin(), requests.end());
  std::ranges::sort(turns);
  return turns;
}

nlohmann::json columns_of(const std::vector<std::int64_t>& values) {
  JsonLine line;
  line.open('{');
  add_numbers(line, "x", values);
  line.close('}');
  return nlohmann::json::parse(line.so_far()).at("x");
}

}  // namespace

TEST_CASE("stretches say of every step who runs and who waits, as the replay of the queue does") {
  const sweep::CellResult result = GENERATE(two_jobs(), three_jobs()).result();
  const TurnSpans spans = turn_spans(result);
  const TurnNames names(result);
  QueueReplay queues(result, names);
  while (queues.next()) {
    const auto step = static_cast<std::int32_t>(queues.step_row());
    CAPTURE(step);
    CHECK(turns_at(spans, true, step) == sorted(queues.running()));
    CHECK(turns_at(spans, false, step) == sorted(queues.waiting()));
  }
}

TEST_CASE("steps in which a turn decodes are one stretch; what starts or ends one stands alone") {
  const TurnSpans spans = turn_spans(two_jobs().result());
  std::vector<std::pair<SchedKind, std::int32_t>> found;
  for (const TurnShare& share : spans.shares) found.emplace_back(share.kind, share.count);
  CHECK(found == std::vector<std::pair<SchedKind, std::int32_t>>{{SchedKind::fresh, 1},
                                                                 {SchedKind::running, 3},
                                                                 {SchedKind::fresh, 1},
                                                                 {SchedKind::preempted, 1},
                                                                 {SchedKind::resumed, 1},
                                                                 {SchedKind::running, 1}});
}

TEST_CASE("a trace page is JSON with the tables of every cell") {
  const sweep::CellResult result = two_jobs().result();
  sweep::CellRecord record;
  record.label = "policy=\"x\"";
  const TracedCell cells[] = {{record, result}, {record, result}};
  const nlohmann::json page = nlohmann::json::parse(trace_page("a.h5", cells));
  CHECK(page.at("archive") == "a.h5");
  REQUIRE(page.at("cells").size() == 2);
  const nlohmann::json& cell = page.at("cells").at(1);
  CHECK(cell.at("label") == "policy=\"x\"");
  CHECK(cell.at("steps").at("rows") == 6);
  CHECK(cell.at("jobs").at("columns").at("id") == nlohmann::json({"a", "<b>"}));
  CHECK(cell.at("stays").at("columns").contains("running"));
}

TEST_CASE("numbers take the smallest type that holds them, or none when they need no list") {
  CHECK(columns_of({3, 3, 3}) == nlohmann::json({{"same", 3}, {"rows", 3}}));
  CHECK(columns_of({5, 6, 7}) == nlohmann::json({{"from", 5}, {"rows", 3}}));
  CHECK(columns_of({0, 255}).at("type") == "u8");
  CHECK(columns_of({0, 256}).at("type") == "u16");
  CHECK(columns_of({-1, 1}).at("type") == "i32");
  CHECK(columns_of({0, std::int64_t{1} << 40}).at("type") == "f64");
  CHECK(columns_of({}).at("type") == "u8");
}

TEST_CASE("base64 pads to whole groups of four") {
  const auto text = [](std::vector<std::uint8_t> bytes) { return base64(bytes); };
  CHECK(text({}).empty());
  CHECK(text({'f'}) == "Zg==");
  CHECK(text({'f', 'o'}) == "Zm8=");
  CHECK(text({'f', 'o', 'o'}) == "Zm9v");
  CHECK(text({0xff, 0xfe, 0xfd, 0x00}) == "//79AA==");
}

TEST_CASE("packed numbers are their bytes, and much that is alike shrinks") {
  const std::vector<std::uint16_t> numbers{1, 256};
  CHECK(packed(std::span(numbers)) == R"({"type":"u16","data":"AQAAAQ=="})");
  const std::vector<double> alike(1000, 0.1);
  CHECK(packed_small(std::span(alike)).size() <= packed(std::span(alike)).size());
}
