#include <sstream>

#include "analysis/ranking/answer.hpp"
#include "analysis/ranking/policy_table.hpp"
#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::GridFormat;
using Catch::Matchers::Contains;

namespace {

struct Latencies {
  double mean, ttft, first_token, jct;
};

/// Cells with a tail beside their mean.
class TailedCells {
 public:
  TailedCells& add(const std::string& policy, std::int64_t jps, const Latencies& s) {
    Settings settings = {{"policy", text(policy)}, {"jps", whole(jps)}};
    if (policy == "continuum") settings["policy.retention"] = text("pin");
    sweep::CellRecord& cell = archive_.add(settings, s.mean);
    cell.figures.push_back({"ttft_p99_s", s.ttft, "s"});
    cell.figures.push_back({"first_token_p99_s", s.first_token, "s"});
    cell.figures.push_back({"jct_wall_p99_s", s.jct, "s"});
    return *this;
  }
  TailedCells& without_tail(const std::string& policy, std::int64_t jps, double mean) {
    archive_.add({{"policy", text(policy)}, {"jps", whole(jps)}}, mean);
    return *this;
  }

  std::string says() const {
    const auto cells = archive_.cells();
    std::ostringstream out;
    print_answer_lines(arrange(analysis::with_results(cells)), analysis::kAnswerFigure, out);
    return out.str();
  }
  std::string table(GridFormat format, const std::string& figure = "jct_wall_mean_s") const {
    const auto cells = archive_.cells();
    std::ostringstream out;
    print_policy_tables(policy_tables(arrange(analysis::with_results(cells)), figure, {}), format,
                        out);
    return out.str();
  }

 private:
  ArchivedCells archive_;
};

}  // namespace

TEST_CASE("the sentence that names a winner has its tail, and where fcfs's is far better") {
  TailedCells cells;
  cells.add("fcfs", 3, {200, 18, 0.4, 300}).add("fcfs", 6, {210, 20, 0.5, 310});
  cells.add("continuum", 3, {50, 23, 0.5, 80}).add("continuum", 6, {52, 30, 1.5, 85});
  CHECK(cells.says() ==
        "h100-80gb: at 3 and 6 jobs/s continuum is best (p99: TTFT 23.0 to 30.0 s, first token "
        "0.50 to 1.50 s, JCT 80.0 to 85.0 s), but its p99 TTFT is 1.50 times fcfs's at 6 jobs/s "
        "and its p99 first token is 3.00 times fcfs's at 6 jobs/s; fcfs takes 4.00 to 4.04 times "
        "as long\n");
}

TEST_CASE("a tail of 1.3 times fcfs's is not said to be worse") {
  TailedCells cells;
  cells.add("fcfs", 3, {200, 10, 10, 100}).add("continuum", 3, {50, 13, 13, 130});
  CHECK_THAT(cells.says(), Contains("JCT 130.0 s); fcfs takes") && !Contains("but"));
}

TEST_CASE("of policies that tie, the one with the worse tail is named") {
  TailedCells cells;
  cells.add("fcfs", 1, {41, 0.2, 0.2, 90}).add("working_set", 1, {41, 0.2, 13, 90});
  CHECK(cells.says() ==
        "h100-80gb: at 1 job/s fcfs and working_set tie (p99: TTFT 0.20 s, first token 0.20 to "
        "13.0 s, JCT 90.0 s), but working_set's p99 first token is 65.00 times fcfs's\n");
}

TEST_CASE("without fcfs nothing is worse, and without a tail nothing is said of it") {
  TailedCells alone;
  alone.add("job_fcfs", 3, {70, 1, 1, 1}).add("continuum", 3, {50, 9, 9, 9});
  CHECK_THAT(alone.says(), Contains("(p99: TTFT 9.00 s") && !Contains("but"));
  TailedCells old;
  old.without_tail("fcfs", 3, 200).without_tail("continuum", 3, 50);
  CHECK(old.says() == "h100-80gb: at 3 jobs/s continuum is best; fcfs takes 4.00 times as long\n");
  CHECK_THAT(old.table(GridFormat::text), !Contains("p99"));
}

TEST_CASE("a table has the tail below the means") {
  TailedCells cells;
  cells.add("fcfs", 3, {200, 18.25, 0.4, 300}).add("continuum", 3, {50, 23, 0.5, 80});
  CHECK_THAT(cells.table(GridFormat::text),
             Contains("     p99 TTFT          18.25          23\n") &&
                 Contains("     p99 first token  0.4000      0.5000\n") &&
                 Contains("     p99 JCT             300          80\n"));
  CHECK_THAT(cells.table(GridFormat::csv),
             Contains("published,ttft_p99_s,first_token_p99_s,jct_wall_p99_s") &&
                 Contains(",18.25,0.4,300"));
  CHECK_THAT(cells.table(GridFormat::text, "ttft_p99_s"),
             !Contains("p99 TTFT") && Contains("p99 JCT"));
}

TEST_CASE("a tail is compared with the variant of fcfs that there is, and a lack of one is said") {
  TailedCells cells;
  cells.add("fcfs+eviction=slru", 3, {200, 10, 1, 100}).add("continuum", 3, {50, 20, 1, 90});
  CHECK_THAT(cells.says(), Contains("but its p99 TTFT is 2.00 times fcfs+eviction=slru's"));
  TailedCells none;
  none.add("pin", 3, {200, 10, 1, 100}).add("continuum", 3, {50, 20, 1, 90});
  CHECK_THAT(none.says(), Contains("JCT 90.0 s; no fcfs beside it)") && !Contains("but"));
}
