#include "analysis/compare/cell_summary.hpp"

#include <cmath>
#include <sstream>

#include "analysis/text/text_table.hpp"
#include "tests/support/catch.hpp"

using namespace analysis;
using sweep::CellRecord;
using sweep::CellStatus;
using sweep::Value;

namespace {

CellRecord cell(int index, const std::string& policy, std::int64_t jps, double jct_s) {
  CellRecord record;
  record.index = index;
  record.status = CellStatus::ok;
  record.axes = {
      {"gpu", Value(std::string("h100-80gb"))}, {"policy", Value(policy)}, {"jps", Value(jps)}};
  record.config_json = std::string("{}");
  record.figures = {{"jobs", 100, ""}, {"jct_wall_mean_s", jct_s, "s"}, {"steps", 108518, ""}};
  return record;
}

CellRecord repeat(CellRecord record, int number, double jct_s) {
  record.index += number;
  record.repeat = number;
  record.figures[1].value = jct_s;
  return record;
}

std::string summary(const std::vector<CellRecord>& records) {
  std::ostringstream text;
  print_summary(std::vector<ConfiguredCell>(records.begin(), records.end()), text);
  return text.str();
}

}  // namespace

TEST_CASE("a summary has a row per cell, with what varies and the main figures") {
  CHECK(summary({cell(0, "fcfs", 1, 41.0312), cell(1, "continuum", 10, 279.96)}) ==
        "cell  policy     jps  jct_wall   steps\n"
        "                        mean s\n"
        "   0  fcfs         1     41.03  108518\n"
        "   1  continuum   10     280.0  108518\n");
}

TEST_CASE("host hits and loaded bytes are shown if any cell has some") {
  CellRecord none = cell(0, "fcfs", 1, 41), some = cell(1, "cpu_offload", 1, 40);
  none.figures.push_back({"host_hit_rate", 0, ""});
  none.figures.push_back({"h2d_bytes", 0, "B"});
  CHECK(summary({none}).find("host_hit_rate") == std::string::npos);
  some.figures.push_back({"host_hit_rate", 0.25, ""});
  some.figures.push_back({"h2d_bytes", 4096, "B"});
  CHECK(summary({none, some}) ==
        "cell  policy       jps  jct_wall  host_hit_rate  h2d_bytes   steps\n"
        "                          mean s                         B\n"
        "   0  fcfs           1        41              0          0  108518\n"
        "   1  cpu_offload    1        40         0.2500       4096  108518\n");
}

TEST_CASE("policy and jps are shown even if they do not vary or are not axes") {
  CellRecord single = cell(0, "fcfs", 1, 41);
  single.axes.clear();
  single.config_json = std::string(R"({"jps":0.5,"policy":"fcfs"})");
  CHECK(summary({single}) ==
        "cell  policy  jps  jct_wall   steps\n"
        "                     mean s\n"
        "   0  fcfs    0.5        41  108518\n");
}

TEST_CASE("a cell without a value on an axis shows a dash there") {
  CellRecord with_dram = cell(1, "cpu_offload", 1, 41.6);
  with_dram.axes.emplace_back("dram_gib", Value(std::int64_t{16}));
  CHECK(summary({cell(0, "fcfs", 1, 41.5), with_dram}) ==
        "cell  policy       jps  dram_gib  jct_wall   steps\n"
        "                                    mean s\n"
        "   0  fcfs           1         -     41.50  108518\n"
        "   1  cpu_offload    1        16     41.60  108518\n");
}

TEST_CASE("cells that did not run are listed with their reason, on one line") {
  CellRecord failed = cell(1, "continuum", 1, 0);
  failed.figures.clear();
  failed.status = CellStatus::failed;
  failed.reason = "bad\x1b[2J\nnews";
  CHECK(summary({cell(0, "fcfs", 1, 41.5), failed}) ==
        "cell  policy     jps  jct_wall   steps  status  reason\n"
        "                        mean s\n"
        "   0  fcfs         1     41.50  108518  ok\n"
        "   1  continuum    1         -       -  failed  bad\\x1b[2J\\nnews\n");
}

TEST_CASE("cells that are excluded are counted by reason, and in no table") {
  const auto excluded = [](int index, const std::string& reason) {
    CellRecord report = cell(index, "lmcache", index, 0);
    report.figures.clear();
    report.status = CellStatus::excluded;
    report.reason = reason;
    return report;
  };
  const std::string text = summary({excluded(0, "no\ntier"), cell(1, "fcfs", 1, 41.5),
                                    excluded(2, "too long"), excluded(3, "no\ntier")});
  CHECK(text ==
        "cell  policy  jps  jct_wall   steps\n"
        "                     mean s\n"
        "   1  fcfs      1     41.50  108518\n"
        "\n"
        "excluded: 2 cells: no\\ntier\n"
        "excluded: 1 cell: too long\n");
}

TEST_CASE("repeats are averaged per group, over those that are ok") {
  const CellRecord fcfs = cell(0, "fcfs", 1, 40), other = cell(3, "continuum", 1, 30);
  CellRecord timed_out = repeat(other, 1, 99);
  timed_out.status = CellStatus::timeout;
  const std::string text =
      summary({fcfs, repeat(fcfs, 1, 41), repeat(fcfs, 2, 43.5), other, timed_out});
  CHECK(text.substr(text.find("mean over")) ==
        "mean over repeats\n"
        "policy     jps  repeats  jct_wall   steps\n"
        "                           mean s\n"
        "fcfs         1        3     41.50  108518\n"
        "continuum    1        1        30  108518\n");
}

TEST_CASE("cells that agree on every axis but are planned apart are not averaged") {
  const CellRecord planned = cell(0, "fcfs", 1, 40), included = cell(2, "fcfs", 1, 50);
  const std::string text =
      summary({planned, repeat(planned, 1, 42), included, repeat(included, 1, 52)});
  CHECK(text.find("fcfs      1        2        41  ") != std::string::npos);
  CHECK(text.find("fcfs      1        2        51  ") != std::string::npos);
}

TEST_CASE("a summary of no cells is a header") { CHECK(summary({}) == "cell\n\n"); }

TEST_CASE("numbers have four significant digits, whole numbers all digits") {
  CHECK(four_digits(0.026134) == "0.02613");
  CHECK(four_digits(0.98765) == "0.9877");
  CHECK(four_digits(41.0312) == "41.03");
  CHECK(four_digits(281.04) == "281.0");
  CHECK(four_digits(1234.5678) == "1235");
  CHECK(four_digits(108518) == "108518");
  CHECK(four_digits(-3.14159) == "-3.142");
  CHECK(four_digits(0) == "0");
  CHECK(four_digits(1.2344e-7) == "1.234e-07");
  CHECK(four_digits(sweep::kNotObserved) == "-");
}
