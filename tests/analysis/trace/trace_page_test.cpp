#include "analysis/trace/page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "analysis/text/packed.hpp"
#include "analysis/trace/columns.hpp"
#include "analysis/trace/names.hpp"
#include "analysis/trace/relations.hpp"
#include "analysis/trace/replay.hpp"
#include "analysis/trace/spans.hpp"
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

nlohmann::json packed_of(const std::vector<std::int64_t>& values) {
  JsonLine line;
  write_packed(line, values);
  return nlohmann::json::parse(line.so_far());
}

/// What a table becomes when `fill` has added its columns.
template <class Fill>
nlohmann::json table_of(std::size_t rows, Fill fill) {
  JsonLine line;
  line.open('{');
  PackedTable packed(line, "x", rows);
  fill(packed);
  packed.close();
  line.close('}');
  return nlohmann::json::parse(line.so_far()).at("x");
}

template <class T>
sweep::Column column_of(const char* name, std::vector<T> values, const char* unit = "") {
  sweep::Column column;
  column.name = name;
  column.unit = unit;
  column.data = std::move(values);
  return column;
}

std::vector<std::uint64_t> bytes_of_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint64_t> bytes;
  std::uint64_t bits = 0;
  int known = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | digits.find(c);
    if ((known += 6) < 8) continue;
    bytes.push_back(bits >> (known -= 8) & 255u);
  }
  return bytes;
}

/// As pages do it, for what is too short to be deflated.
std::vector<std::int64_t> unpacked(const nlohmann::json& packed, std::size_t rows) {
  if (packed.contains("same")) return std::vector<std::int64_t>(rows, packed.at("same"));
  const auto bytes = bytes_of_base64(packed.at("data"));
  const std::size_t width = packed.at("bytes");
  const bool planes = packed.at("planes");
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint64_t code = 0;
    for (std::size_t k = 0; k < width; ++k)
      code |= bytes.at(planes ? k * rows + i : i * width + k) << (8 * k);
    const auto half = static_cast<std::int64_t>(code >> 1);
    const std::int64_t number = (code & 1u) != 0 ? -half - 1 : half;
    const bool onwards = packed.at("difference") && i > 0;
    values.push_back(number * std::int64_t(packed.at("unit")) + (onwards ? values.back() : 0));
  }
  return values;
}

}  // namespace

TEST_CASE(
    "stretches give the running and waiting turns of every step, as the replay of the queue does") {
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

TEST_CASE("packed numbers unpack to themselves") {
  std::mt19937_64 random(5);
  for (int bits = 1; bits <= 51; ++bits) {
    for (const std::int64_t unit : {1, 4096}) {
      std::vector<std::int64_t> values;
      for (int i = 0; i < 5; ++i) {
        const auto size = static_cast<std::int64_t>(random() >> (64 - bits)) / unit * unit;
        values.push_back(random() % 2 != 0 ? size : -size);
      }
      CAPTURE(values);
      const nlohmann::json packed = packed_of(values);
      if (!packed.contains("deflated")) CHECK(unpacked(packed, values.size()) == values);
    }
  }
}

TEST_CASE("packed numbers take as few bytes as hold them, and none when they are all the same") {
  CHECK(packed_of({3, 3, 3}) == nlohmann::json({{"same", 3}}));
  CHECK(packed_of({}) == nlohmann::json({{"same", 0}}));
  CHECK(packed_of({0, 127, -128}).at("bytes") == 1);
  CHECK(packed_of({1, 128, -128}).at("bytes") == 2);
  CHECK(packed_of({1, 128, -128}).at("wide") == false);
  CHECK(packed_of({0, std::int64_t{1} << 31 | 1}).at("wide") == true);
  CHECK(packed_of({0, std::int64_t{1} << 40}).at("unit") == std::int64_t{1} << 40);
  CHECK_THROWS_AS(packed_of({kLargestPacked + 1}), std::invalid_argument);
}

TEST_CASE("numbers that grow shrink to what is added to each") {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 4000; ++i) values.push_back(1'000'003 * i + i % 7);
  CHECK(packed_of(values).at("difference") == true);
}

TEST_CASE("a table says of every column how to read it") {
  const nlohmann::json table = table_of(3, [](PackedTable& packed) {
    packed.add(column_of<std::int32_t>("count", {5, 6, 7}));
    packed.add(column_of<double>("time", {1e-9, 0.5, NAN}, "s"));
    packed.add(column_of<double>("odd", {1e-10, 0.5, 1}, "s"));
    packed.add(column_of<double>("alike", {0.1, 0.1, 0.1}));
    packed.add(column_of<std::string>("id", {"a", "b", "<c>"}));
    packed.add(column_of<std::string>("tool", {"ls", "ls", "ls"}));
  });
  const nlohmann::json& columns = table.at("columns");
  CHECK(columns.at("count") == nlohmann::json({{"from", 5}, {"rows", 3}}));
  CHECK(columns.at("time").at("scale") == 1e-9);
  CHECK(columns.at("time").at("none") == -1);
  CHECK(unpacked(columns.at("time").at("ints"), 3) ==
        std::vector<std::int64_t>{1, 500'000'000, -1});
  CHECK(columns.at("odd").at("type") == "f64");
  CHECK(columns.at("alike") == nlohmann::json({{"same", 0.1}, {"rows", 3}}));
  CHECK(columns.at("id") == nlohmann::json({"a", "b", "<c>"}));
  CHECK(columns.at("tool").at("texts") == nlohmann::json({"ls"}));
}

TEST_CASE("a column that follows from others is left out; one with gaps is written in full") {
  sweep::Table table;
  table.columns = {
      column_of<double>("begin", {1, 2}, "s"),    column_of<double>("end", {1.5, 4}, "s"),
      column_of<double>("lasted", {0.5, 2}, "s"), column_of<double>("late", {0.5, NAN}, "s"),
      column_of<std::int32_t>("blocks", {2, 3}),  column_of<std::int64_t>("bytes", {8192, 12288}),
      column_of<std::int32_t>("job", {-1, -1})};
  const nlohmann::json columns = table_of(2, [&](PackedTable& packed) {
                                   add_sum(packed, table, "end", {"begin", "lasted"});
                                   add_sum(packed, table, "late", {"begin"});
                                   add_multiple(packed, table, "bytes", "blocks");
                                   add_within(packed, table, "blocks", "job");
                                 }).at("columns");
  CHECK(columns.at("end").at("ints") == nlohmann::json({{"same", 0}}));
  CHECK(columns.at("end").at("sum") == nlohmann::json({{"begin", 1}, {"lasted", 1}}));
  CHECK(columns.at("late").at("none") == -1);
  CHECK_FALSE(columns.at("late").contains("sum"));
  CHECK(columns.at("bytes").at("sum") == nlohmann::json({{"blocks", 4096}}));
  CHECK(columns.at("bytes").at("ints") == nlohmann::json({{"same", 0}}));
  CHECK(unpacked(columns.at("blocks").at("ints"), 2) == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("times of steps and events are what remains of the clock of the steps") {
  sweep::Table steps, events;
  steps.columns = {column_of<std::int64_t>("step", {4, 5}), column_of<double>("t_s", {1, 2.5}, "s"),
                   column_of<double>("dur_s", {1.5, 2}, "s")};
  events.columns = {column_of<std::int64_t>("step", {4, 4, 5, 9}),
                    column_of<double>("t_s", {1, 2.5, 2.5, 5}, "s")};
  const nlohmann::json step_columns =
      table_of(2, [&](PackedTable& packed) { add_step_times(packed, steps); }).at("columns");
  CHECK(step_columns.at("t_s").at("ints") == nlohmann::json({{"same", 1'000'000'000}}));
  const nlohmann::json columns = table_of(4, [&](PackedTable& packed) {
                                   add_event_times(packed, events, steps);
                                 }).at("columns");
  CHECK(unpacked(columns.at("ended").at("ints"), 4) == std::vector<std::int64_t>{0, 1, 0, 1});
  CHECK(unpacked(columns.at("t_s").at("ints"), 4) ==
        std::vector<std::int64_t>{0, 0, 0, 500'000'000});
}

TEST_CASE("a line of a chart takes two characters a value, and none where all are the same") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> line = {0, 4094, none, 2, 65.4};
  CHECK(scaled_line(line).largest == 4094);
  CHECK(scaled_line(line).codes == "AA/+//ACBB");
  const std::vector<double> alike = {3, 3}, unknown = {none, none}, zeros = {0, 0};
  CHECK((scaled_line(alike).largest == 3 && scaled_line(alike).codes.empty()));
  CHECK((std::isnan(scaled_line(unknown).largest) && scaled_line(unknown).codes.empty()));
  CHECK((scaled_line(zeros).largest == 0 && scaled_line(zeros).codes.empty()));
  const std::vector<double> below = {1, -1};
  CHECK_THROWS_AS(scaled_line(below), std::invalid_argument);
}

TEST_CASE("base64 pads to whole groups of four") {
  const auto text = [](std::vector<std::uint8_t> bytes) { return base64(bytes); };
  CHECK(text({}).empty());
  CHECK(text({'f'}) == "Zg==");
  CHECK(text({'f', 'o'}) == "Zm8=");
  CHECK(text({'f', 'o', 'o'}) == "Zm9v");
  CHECK(text({0xff, 0xfe, 0xfd, 0x00}) == "//79AA==");
}

TEST_CASE("repetitive data shrinks") {
  const std::vector<double> alike(1000, 0.1), one(1, 0.1);
  CHECK(nlohmann::json::parse(packed_small(one)).contains("data"));
  CHECK(packed_small(alike).size() <= 8 * alike.size());
}
