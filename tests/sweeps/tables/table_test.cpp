#include <functional>

#include "sweeps/tables/result.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"

using namespace sweep;

namespace {

std::string table_complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const TableError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> column_names(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

StepRow step_number(std::int64_t step) {
  StepRow row;
  row.step = step;
  row.n_tok = static_cast<std::int32_t>(10 * step);
  row.stop_reason = StopReason::max_seqs;
  row.t_schedule_s = 0.001 * static_cast<double>(step);
  return row;
}

Table steps(std::initializer_list<StepRow> rows) {
  return to_table<StepRow>({rows.begin(), rows.size()});
}

}  // namespace

TEST_CASE("rows come back as columns in the order they were added") {
  const Table table = steps({step_number(1), step_number(2), step_number(3)});
  CHECK(table.name == "steps");
  CHECK(table.rows() == 3);
  CHECK(table.values<std::int64_t>("step") == std::vector<std::int64_t>{1, 2, 3});
  CHECK(table.values<std::int32_t>("n_tok") == std::vector<std::int32_t>{10, 20, 30});
}

TEST_CASE("rows are appended behind those that a table has, in every column") {
  const std::vector<StepRow> rows = {step_number(1), step_number(2), step_number(3)};
  Table grown = to_table<StepRow>({});
  append_rows<StepRow>(std::span(rows).first(2), grown);
  append_rows<StepRow>({}, grown);
  append_rows<StepRow>(std::span(rows).last(1), grown);
  const Table whole = to_table<StepRow>(rows);
  REQUIRE(grown.columns.size() == whole.columns.size());
  for (std::size_t i = 0; i < whole.columns.size(); ++i)
    CHECK(grown.columns[i].size() == whole.columns[i].size());
  CHECK(same_results(grown, whole));
}

TEST_CASE("enumerations and booleans are int8 columns that carry their names") {
  const Table table = steps({step_number(1)});
  const Column& reason = table.column("stop_reason");
  REQUIRE(table.values<std::int8_t>("stop_reason").size() == 1);
  const auto stored = static_cast<std::size_t>(table.values<std::int8_t>("stop_reason")[0]);
  CHECK(reason.enum_names.at(stored) == "max_seqs");
  CHECK(to_table<TurnRow>({}).column("last").enum_names ==
        std::vector<std::string>{"FALSE", "TRUE"});
  CHECK(to_text(SchedKind::fresh) == "new");
  CHECK(to_text(KvReason::pressure_admit) == "pressure_admit");
  CHECK(to_text(CellStatus::quarantined) == "quarantined");
}

TEST_CASE("a cell without rows still has every column of every table") {
  const CellResult result;
  for (const Table* table : result.tables()) {
    INFO(table->name);
    CHECK(table->rows() == 0);
    CHECK(table->columns.size() > 5);
    for (const Column& column : table->columns) CHECK_FALSE(column.long_name.empty());
  }
  CHECK(column_names(result.sched) ==
        std::vector<std::string>{"step", "job", "turn", "kind", "tokens", "computed_before"});
}

TEST_CASE("every column of seconds or bytes states its unit") {
  const CellResult result;
  for (const Table* table : result.tables()) {
    for (const Column& column : table->columns) {
      INFO(table->name << '/' << column.name);
      if (column.name.ends_with("_s")) CHECK(column.unit == "s");
      if (column.name.ends_with("bytes")) CHECK(column.unit == "B");
      if (column.name.ends_with("_tok")) CHECK(column.unit == "tok");
    }
  }
}

TEST_CASE("a column that is not there is named with its table and the columns that are") {
  CHECK(table_complaint([] { to_table<SchedRow>({}).column("tokns"); }) ==
        "table sched has no column tokns; it has step, job, turn, kind, tokens, computed_before");
}

TEST_CASE("asking for the wrong type names both types") {
  CHECK(table_complaint([] { steps({}).values<double>("n_tok"); }) ==
        "table steps: column n_tok holds int32, not float64");
}

TEST_CASE("columns of different lengths are not a table") {
  Table table = steps({step_number(1)});
  std::get<std::vector<std::int32_t>>(table.columns[3].data).push_back(7);
  CHECK(table_complaint([&] { static_cast<void>(table.rows()); }) ==
        "table steps: column step has 1 rows and column n_tok has 2");
}

TEST_CASE("results are the same when only volatile columns differ") {
  StepRow slow = step_number(1);
  slow.t_schedule_s = 5;
  CHECK(same_results(steps({step_number(1)}), steps({slow})));
  CHECK(same_results(to_table<JobRow>({{JobRow{}}}), to_table<JobRow>({{JobRow{}}})));  // NaN times
  CHECK_FALSE(same_results(steps({step_number(1)}), steps({step_number(2)})));
  CHECK_FALSE(same_results(steps({step_number(1)}), steps({step_number(1), step_number(2)})));
}
