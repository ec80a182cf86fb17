#include "analysis/answer/contrasts.hpp"

#include <cmath>

#include "analysis/answer/answer.hpp"
#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::Contrast;
using analysis::ContrastResult;
using analysis::parse_contrast;
using Catch::Matchers::Contains;

namespace {

/// Cells of policies at rates, a job completion time for each seed.
class Repeats {
 public:
  Repeats& add(const std::string& policy, std::int64_t jps, const std::vector<double>& jct_s) {
    std::int64_t seed = 42;
    for (const double each : jct_s)
      archive_.add({{"policy", text(policy)}, {"jps", whole(jps)}}, each, seed++);
    return *this;
  }

  std::vector<ContrastResult> results(const std::vector<std::string>& texts) const {
    const auto cells = archive_.cells();
    return contrast_results(parsed(texts), arrange(analysis::with_results(cells)),
                            analysis::kAnswerFigure);
  }

  std::vector<std::string> lines(const std::vector<std::string>& texts) const {
    const auto cells = archive_.cells();
    return analysis::answer_of(arrange(analysis::with_results(cells)), parsed(texts)).declared;
  }

 private:
  static std::vector<Contrast> parsed(const std::vector<std::string>& texts) {
    std::vector<Contrast> contrasts;
    for (const std::string& each : texts) contrasts.push_back(parse_contrast(each));
    return contrasts;
  }

  ArchivedCells archive_;
};

}  // namespace

TEST_CASE("a contrast names two policies and where they are compared") {
  CHECK(parse_contrast("continuum / fcfs") == Contrast{"continuum", "fcfs", {}});
  CHECK(parse_contrast("lmcache-16G / continuum (ttl_s=5) at jps=3,6 gpu=h100-80gb") ==
        Contrast{
            "lmcache-16G", "continuum (ttl_s=5)", {{"jps", {"3", "6"}}, {"gpu", {"h100-80gb"}}}});
}

TEST_CASE("a contrast of another form is refused with the forms there are") {
  for (const char* wrong : {"", "continuum", "continuum/fcfs", "fcfs / fcfs", " / fcfs", "a / ",
                            "a / b at ", "a / b at jps", "a / b at =3", "a / b at jps="})
    CHECK_THROWS_WITH(parse_contrast(wrong), Contains("must be of the form \"POLICY / POLICY\"") &&
                                                 Contains("found \"" + std::string(wrong) + '"'));
}

TEST_CASE("a contrast is compared wherever both policies ran, and only where it says") {
  Repeats cells;
  cells.add("fcfs", 3, {40, 41, 42}).add("fcfs", 6, {80, 81, 82}).add("job_fcfs", 6, {50, 51, 50});
  cells.add("continuum", 3, {10, 11, 10}).add("continuum", 6, {20, 21, 22});
  CHECK(cells.results({"continuum / fcfs"}).size() == 2);
  CHECK(cells.results({"continuum / job_fcfs"}).size() == 1);
  const auto at_six = cells.results({"continuum / fcfs at jps=6,9"});
  REQUIRE(at_six.size() == 1);
  CHECK(at_six.front().jps == "6");
  CHECK(at_six.front().ratio.value == Approx(0.259).margin(1e-3));
  CHECK(cells.results({"continuum / fcfs at gpu=b200"}).empty());
  CHECK(cells.results({"continuum / fcfs at nosuch=1"}).empty());
}

TEST_CASE("the p-values of declared contrasts are adjusted over all of them together") {
  Repeats cells;
  cells.add("fcfs", 3, {40, 41, 42}).add("continuum", 3, {36, 41, 40}).add("pin", 3, {38, 42, 43});
  const double alone = cells.results({"continuum / fcfs"}).front().ratio.p;
  const double other = cells.results({"pin / fcfs"}).front().ratio.p;
  REQUIRE(alone < other);
  const auto both = cells.results({"continuum / fcfs", "pin / fcfs"});
  CHECK(both[0].ratio.p == Approx(2 * alone));
  CHECK(both[1].ratio.p == Approx(std::max(2 * alone, other)));
}

TEST_CASE("the answer has a line for each declared contrast") {
  Repeats cells;
  cells.add("fcfs", 3, {40, 41, 42}).add("continuum", 3, {10, 10.2, 10.4});
  cells.add("fcfs", 6, {80, 81, 82}).add("continuum", 6, {20, 21, 22});
  CHECK(cells.lines({"continuum / fcfs"}) ==
        std::vector<std::string>{"continuum / fcfs: h100-80gb: at 3 jobs/s 0.25 (0.25 .. 0.25), "
                                 "p < 0.001; at 6 jobs/s 0.26 (0.24 .. 0.28), p < 0.001"});
  Repeats once;
  once.add("fcfs", 3, {40}).add("continuum", 3, {10});
  CHECK(once.lines({"continuum / fcfs"}) ==
        std::vector<std::string>{"continuum / fcfs: h100-80gb: at 3 jobs/s 0.25"});
}
