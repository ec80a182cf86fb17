#include "analysis/ranking/answer.hpp"
#include "analysis/ranking/sentences.hpp"

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::Contender;
using analysis::Direction;
using analysis::Place;
using analysis::Regime;

namespace {

const Place kH100{"MODELLED (sim)", "h100-80gb", ""};

/// The regimes of fcfs and continuum at some rates, from the values of one seed each.
std::vector<Regime> regimes(const std::map<std::string, std::pair<double, double>>& by_rate) {
  std::vector<Regime> all;
  for (const auto& [jps, values] : by_rate) {
    const std::vector<Contender> two = {{"fcfs", "-", {{42, values.first}}},
                                        {"continuum", "-", {{42, values.second}}}};
    for (const Regime& each : regimes_of(kH100, jps, two, Direction::lower)) all.push_back(each);
  }
  return all;
}

std::vector<std::string> lines_of(const std::vector<Regime>& regimes) {
  std::vector<std::string> texts;
  for (const analysis::AnswerLine& each : answer_lines(regimes)) texts.push_back(each.text());
  return texts;
}

}  // namespace

TEST_CASE("rates with the same outcome share a sentence, whose ratios range over them") {
  CHECK(lines_of(regimes({{"1", {41, 41}}, {"3", {195, 50}}, {"6", {202.5, 50}}})) ==
        std::vector<std::string>{
            "h100-80gb: at 1 job/s continuum and fcfs tie",
            "h100-80gb: at 3 and 6 jobs/s continuum is best; fcfs takes 3.90 to 4.05 times as "
            "long"});
}

TEST_CASE("each size of host memory has a line of its own") {
  const std::vector<Contender> row = {{"fcfs", "-", {{42, 50}}},
                                      {"lmcache-16G", "16", {{42, 60}}},
                                      {"lmcache-128G", "128", {{42, 40}}}};
  CHECK(lines_of(regimes_of(kH100, "3", row, Direction::lower)) ==
        std::vector<std::string>{
            "h100-80gb with 16 GiB: at 3 jobs/s fcfs is best; lmcache-16G takes 1.20 times as long",
            "h100-80gb with 128 GiB: at 3 jobs/s lmcache-128G is best; fcfs takes 1.25 times as "
            "long"});
}

TEST_CASE("what the repeats do not tell from the best is named with its interval") {
  const std::vector<Contender> row = {{"a", "-", {{42, 10}, {43, 10}, {44, 10}}},
                                      {"b", "-", {{42, 9}, {43, 12}, {44, 14}}},
                                      {"c", "-", {{42, 30}, {43, 31}, {44, 32}}}};
  CHECK(lines_of(regimes_of(kH100, "3", row, Direction::lower)) ==
        std::vector<std::string>{"h100-80gb: at 3 jobs/s a may be best; b is undecided, 1.15 "
                                 "times as long (0.66 .. 2.00); c takes 3.10 times as long (2.86 "
                                 ".. 3.36)"});
}

TEST_CASE("policies that are equally far behind are next together") {
  const auto at = [](const std::string& jps, double fcfs, double offload) {
    const std::vector<Contender> row = {
        {"continuum", "-", {{42, 10}}}, {"fcfs", "-", {{42, fcfs}}}, {"job", "-", {{42, offload}}}};
    return regimes_of(kH100, jps, row, Direction::lower).front();
  };
  CHECK(lines_of(std::vector<Regime>{at("3", 40, 40.1), at("6", 40.1, 40)}) ==
        std::vector<std::string>{"h100-80gb: at 3 and 6 jobs/s continuum is best; fcfs and job "
                                 "take 4.00 to 4.01 times as long"});
}

TEST_CASE("jobs that do not arrive at a rate have none in the sentence") {
  CHECK(lines_of(regimes({{"-", {41, 82}}})) ==
        std::vector<std::string>{"h100-80gb: fcfs is best; continuum takes 2.00 times as long"});
}

TEST_CASE("a figure of which more is better says how much of it the next policy has") {
  const std::vector<Contender> two = {{"a", "-", {{42, 100}}}, {"b", "-", {{42, 80}}}};
  const auto lines =
      answer_lines(regimes_of(kH100, "1", two, Direction::higher), "output_tok_per_s");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].says == "at 1 job/s a is best; b has 0.80 times as much");
}

TEST_CASE("where figures are of several kinds each line says of which") {
  const std::vector<Contender> two = {{"a", "-", {{42, 1}}}, {"b", "-", {{42, 2}}}};
  std::vector<Regime> both = regimes_of(kH100, "1", two, Direction::lower);
  both.push_back(regimes_of({"MEASURED (cuda)", "h100-80gb", ""}, "1", two, Direction::lower)[0]);
  const std::vector<std::string> lines = lines_of(both);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("MODELLED (sim), h100-80gb: at 1 job/s a is best"));
  CHECK(lines[1].starts_with("MEASURED (cuda), h100-80gb: at 1 job/s a is best"));
}

TEST_CASE("the heading says of which kind the figures are and whether there are intervals") {
  CHECK(answer_heading(regimes({{"1", {41, 82}}})) ==
        "By mean job completion time; MODELLED (sim); 1 seed, no intervals below three");
  CHECK(analysis::answer_heading({}).empty());
}

TEST_CASE("of many cells without a result the first are named") {
  ArchivedCells archive;
  for (std::int64_t jps = 1; jps <= 6; ++jps)
    archive.add({{"policy", text("pin")}, {"jps", whole(jps)}}, 1).status =
        sweep::CellStatus::failed;
  CHECK_THAT(analysis::coverage_text(archive.cells()),
             Catch::Matchers::StartsWith("0 of 6 cells have a result; missing: ") &&
                 Catch::Matchers::EndsWith("policy=pin jps=2 and 4 more"));
}

TEST_CASE("cells that a sweep excludes are not missing") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 1);
  archive.add({{"policy", text("pin")}}, 1).status = sweep::CellStatus::excluded;
  CHECK(analysis::coverage_text(archive.cells()) == "1 of 1 cells have a result; 1 excluded");
  archive.add({{"policy", text("swap")}}, 1).status = sweep::CellStatus::failed;
  CHECK(analysis::coverage_text(archive.cells()) ==
        "1 of 2 cells have a result; missing: gpu=h100-80gb policy=swap jps=1; 1 excluded");
}

TEST_CASE(
    "cells that no run was asked for are not missing, and results of other settings no cells") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 1);
  sweep::CellRecord& left_out = archive.add({{"policy", text("pin")}}, 1);
  left_out.status = sweep::CellStatus::planned;
  left_out.reason = "not asked for: left out by --only";
  archive.add({{"policy", text("fcfs")}, {"jps", whole(3)}}, 1).kept = true;
  CHECK(analysis::coverage_text(archive.cells()) ==
        "1 of 1 cells have a result; 1 not asked for; 1 result is kept from another setting: "
        "kvsweep status lists them");
  left_out.reason.clear();
  CHECK(analysis::coverage_text(archive.cells()) ==
        "1 of 2 cells have a result; missing: gpu=h100-80gb policy=pin jps=1; 1 result is kept "
        "from another setting: kvsweep status lists them");
}
