#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/compare/export_rows.hpp"
#include "analysis/text/text_table.hpp"
#include "tests/support/catch.hpp"

using analysis::ExportFormat;
using analysis::RowExporter;

namespace {

sweep::Table sample() {
  sweep::Table table{"sample", {}};
  table.columns.push_back({"job", "", "", false, {}, std::vector<std::int32_t>{7, 8}});
  table.columns.push_back({"t_s", "s", "", false, {}, std::vector<double>{0.1, std::nan("")}});
  table.columns.push_back(
      {"kind", "", "", false, {"pin", "unpin"}, std::vector<std::int8_t>{1, 0}});
  table.columns.push_back(
      {"last", "", "", false, {"FALSE", "TRUE"}, std::vector<std::int8_t>{0, 1}});
  table.columns.push_back(
      {"tool", "", "", false, {}, std::vector<std::string>{"a,\"b\"", "line\nbreak"}});
  return table;
}

std::string exported(ExportFormat format, bool numbered = true) {
  std::ostringstream out;
  RowExporter exporter(sample(), numbered, format, out);
  exporter.write(sample(), 3);
  return out.str();
}

}  // namespace

TEST_CASE("CSV has a header, names of enumerations, quoted texts and nothing for NaN") {
  CHECK(exported(ExportFormat::csv) ==
        "cell,job,t_s,kind,last,tool\r\n"
        "3,7,0.1,unpin,FALSE,\"a,\"\"b\"\"\"\r\n"
        "3,8,,pin,TRUE,\"line\nbreak\"\r\n");
  CHECK(exported(ExportFormat::csv, false).starts_with("job,t_s,kind,last,tool\r\n7,0.1,"));
}

TEST_CASE("JSON lines have names of enumerations, booleans, and null for NaN") {
  std::istringstream lines(exported(ExportFormat::jsonl));
  std::string line;
  std::getline(lines, line);
  CHECK(line == R"({"cell":3,"job":7,"t_s":0.1,"kind":"unpin","last":false,"tool":"a,\"b\""})");
  std::getline(lines, line);
  const auto second = nlohmann::json::parse(line);
  CHECK(second["t_s"].is_null());
  CHECK(second["last"] == true);
  CHECK(second["tool"] == "line\nbreak");
  CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("a text that a spreadsheet would evaluate is quoted in CSV and unchanged in JSON lines") {
  const std::vector<std::string> texts = {
      "=HYPERLINK(\"x\")", "+1", "-1", "@a", "\tb", "\rc", "a=b"};
  sweep::Table table{"t", {}};
  table.columns.push_back({"=axis", "", "", false, {}, texts});
  table.columns.push_back({"n", "", "", false, {}, std::vector<double>(texts.size(), -1.5)});
  std::ostringstream csv, json;
  RowExporter(table, false, ExportFormat::csv, csv).write(table);
  CHECK(csv.str() ==
        "'=axis,n\r\n\"'=HYPERLINK(\"\"x\"\")\",-1.5\r\n'+1,-1.5\r\n'-1,-1.5\r\n'@a,-1.5\r\n'\tb,-"
        "1.5\r\n"
        "\"'\rc\",-1.5\r\na=b,-1.5\r\n");
  RowExporter(table, false, ExportFormat::jsonl, json).write(table);
  CHECK(json.str().starts_with(R"x({"=axis":"=HYPERLINK(\"x\")","n":-1.5})x"));

  analysis::Grid grid{{{"who", "", false}, {"n", ""}}, {{"=1+1", "-2"}}};
  std::ostringstream out;
  analysis::print_grid(grid, analysis::GridFormat::csv, out);
  CHECK(out.str() == "who,n\r\n'=1+1,-2\r\n");
}

TEST_CASE("numbers read back to the same numbers") {
  for (const double value : {1.0 / 3, 1e-300, 12345678.9, -0.0, 5e15}) {
    CHECK(std::stod(analysis::exact_number(value)) == value);
  }
  CHECK(analysis::exact_number(std::nan("")).empty());
}

TEST_CASE("tables follow one another under one header") {
  std::ostringstream out;
  RowExporter exporter(sample(), true, ExportFormat::csv, out);
  exporter.write(sample(), 0);
  exporter.write(sample(), 1);
  const std::string csv = out.str();
  CHECK(csv.find("cell,") == csv.rfind("cell,"));
  CHECK(csv.find("\r\n1,8,,pin") != std::string::npos);
}

TEST_CASE("a column that a cell lacks is empty, one that others lack is refused") {
  sweep::Table shorter = sample();
  shorter.columns.erase(shorter.columns.begin() + 1);
  std::ostringstream out;
  RowExporter exporter(sample(), false, ExportFormat::csv, out);
  exporter.write(shorter);
  CHECK(out.str().find("\r\n7,,unpin,") != std::string::npos);
  RowExporter narrow(shorter, false, ExportFormat::csv, out);
  CHECK_THROWS_AS(narrow.write(sample()), sweep::TableError);
}

TEST_CASE("a value without a name is refused, not invented") {
  sweep::Table table = sample();
  table.columns[2].data = std::vector<std::int8_t>{1, 9};
  std::ostringstream out;
  RowExporter exporter(table, false, ExportFormat::csv, out);
  CHECK_THROWS_AS(exporter.write(table), sweep::TableError);
}

TEST_CASE("a stream that refuses a row is an error") {
  std::ostringstream out;
  RowExporter exporter(sample(), false, ExportFormat::csv, out);
  out.setstate(std::ios::badbit);
  CHECK_THROWS_AS(exporter.write(sample()), std::system_error);
}
