#include "sweeps/archive/cells_table.hpp"

#include <cmath>

#include "sweeps/files/sha256.hpp"
#include "tests/support/catch.hpp"

using namespace sweep;

namespace {

CellRecord cell(int index) {
  CellRecord record;
  record.index = index;
  record.key = sha256_of(std::to_string(index));
  return record;
}

}  // namespace

TEST_CASE(
    "an axis of whole numbers is whole numbers where every cell has it, and has gaps otherwise",
    "[cells]") {
  std::vector<CellRecord> cells = {cell(0), cell(1)};
  cells[0].axes = {{"jps", std::int64_t{1}}, {"dram_gib", std::int64_t{16}}};
  cells[1].axes = {{"jps", std::int64_t{3}}};
  const Table table = to_cells_table(cells);
  CHECK(names_of(table, kAxis) == std::vector<std::string>{"jps", "dram_gib"});
  CHECK(table.values<std::int64_t>("jps") == std::vector<std::int64_t>{1, 3});
  CHECK(table.values<double>("dram_gib")[0] == 16);
  CHECK(std::isnan(table.values<double>("dram_gib")[1]));
  CHECK(table.column("dram_gib").unit == "GiB");
  CHECK(to_records(table)[1].axes.size() == 1);
  CHECK(same_value(to_records(table)[0].axes[1].second, std::int64_t{16}));
}

TEST_CASE("axes keep their kinds: texts, booleans, floats; a mixture becomes text", "[cells]") {
  std::vector<CellRecord> cells = {cell(0), cell(1)};
  cells[0].axes = {
      {"policy", std::string("fcfs")}, {"duplex", true}, {"jps", 0.5}, {"limit", std::int64_t{8}}};
  cells[1].axes = {{"policy", std::string("continuum")},
                   {"duplex", false},
                   {"jps", std::int64_t{1}},
                   {"limit", std::string("none")}};
  const Table table = to_cells_table(cells);
  CHECK(table.values<std::string>("policy")[1] == "continuum");
  CHECK(table.column("duplex").enum_names == std::vector<std::string>{"FALSE", "TRUE"});
  CHECK(table.values<double>("jps") == std::vector<double>{0.5, 1});
  CHECK(table.values<std::string>("limit") == std::vector<std::string>{"8", "none"});
}

TEST_CASE("figures and notes are columns, empty where a cell lacks them", "[cells]") {
  std::vector<CellRecord> cells = {cell(0), cell(1)};
  cells[0].figures = {{"jct_wall_mean_s", 41, "s", false}};
  cells[1].notes = {{"cuda", "13.0", true}};
  const Table table = to_cells_table(cells);
  CHECK(table.column("jct_wall_mean_s").unit == "s");
  CHECK(std::isnan(table.values<double>("jct_wall_mean_s")[1]));
  CHECK(table.column("cuda").is_volatile);
  const std::vector<CellRecord> back = to_records(table);
  CHECK(back[1].figures.empty());
  CHECK(back[0].notes.empty());
  CHECK(back[1].notes.at(0).text == "13.0");
}

TEST_CASE("an axis, a figure and a note of one name, or of a name that is taken, all come back",
          "[cells]") {
  std::vector<CellRecord> cells = {cell(0)};
  cells[0].axes = {{"seed", std::int64_t{7}}, {"load", std::int64_t{1}}};
  cells[0].figures = {{"load", 0.5, "", false}};
  cells[0].notes = {{"load", "heavy", false}, {"host", "h", false}, {"a/b", "c", false}};
  const Table table = to_cells_table(cells);
  CHECK(table.has("seed_axis"));
  CHECK(table.has("load_figure"));
  CHECK(table.has("load_note"));
  CHECK(table.has("host_note"));
  const CellRecord back = to_records(table).front();
  CHECK(back.axes == cells[0].axes);
  CHECK(back.figures.at(0).value == 0.5);
  CHECK(back.notes.at(0).text == "heavy");
  CHECK(back.notes.at(2).name == "a/b");
}

TEST_CASE("what depends on the machine is volatile, and the results' columns are not", "[cells]") {
  std::vector<CellRecord> cells = {cell(0)};
  CHECK_FALSE(to_cells_table(cells).has("steps_n"));  // without rows
  cells[0].rows[2].rows = 1;
  const Table table = to_cells_table(cells);
  for (const char* name : {"attempts", "host", "rank", "gpu_uuid", "t_start_utc", "wall_s"}) {
    CHECK(table.column(name).is_volatile);
  }
  for (const char* name : {"key", "status", "digest", "steps_off", "steps_n", "config_json"}) {
    CHECK_FALSE(table.column(name).is_volatile);
  }
}

TEST_CASE("a status that does not exist is refused", "[cells]") {
  Table table = to_cells_table(std::vector<CellRecord>{cell(0)});
  for (Column& column : table.columns) {
    if (column.name == "status") column.data = std::vector<std::int8_t>{9};
  }
  CHECK_THROWS_WITH(to_records(table), "table cells: there is no status 9");
}
