#include "analysis/capacity/limits.hpp"

#include "tests/support/catch.hpp"

using namespace analysis;
using Catch::Matchers::Contains;

namespace {

std::string complaint(const std::string& text) {
  try {
    parse_limits(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a limit is the most of a latency, or the least of a speed") {
  const auto limits =
      parse_limits("ttft_p90=2,tpot_p90=0.05,interactivity_p90=20,first_token_max=10");
  REQUIRE(limits.size() == 4);
  CHECK(limits[0].text() == "ttft_p90 <= 2 s");
  CHECK(limits[0].is_met_by(2));
  CHECK_FALSE(limits[0].is_met_by(2.01));
  CHECK(limits[2].text() == "interactivity_p90 >= 20 tok/s");
  CHECK_FALSE(limits[2].is_met_by(19));
  CHECK(limits[2].is_met_by(sweep::kNotObserved));
  CHECK(parse_limits("ttft_p99_s=1").front().is_most);
  CHECK(parse_limits(" ttft_p90 = 2, tpot_p90=0.05 ").back().text() == "tpot_p90 <= 0.05 s");
  CHECK(parse_limits("prefix_hit_rate=0.5").front().text() == "prefix_hit_rate >= 0.5");
  const auto none = parse_limits("preemptions=0").front();
  CHECK((none.text() == "preemptions <= 0" && none.is_met_by(0) && !none.is_met_by(1)));
}

TEST_CASE("a limit that is none is refused with what is allowed") {
  CHECK_THAT(complaint("jobs=3"), Contains("jobs has no direction"));
  CHECK_THAT(
      complaint("ttfp_p90=3"),
      Contains("an SLO has no metric ttfp_p90 (did you mean \"ttft_p90\"?); limits are of ") &&
          Contains("NAME_p90 (any percentile)"));
  CHECK_THAT(complaint("tptot_p99=3"), Contains("did you mean \"tpot_p99\"?"));
  CHECK_THAT(complaint("jct_wal_mean=3"), Contains("did you mean \"jct_wall_mean\"?"));
  CHECK_THAT(complaint("preemption=3"), Contains("did you mean \"preemptions\"?"));
  for (const char* wrong : {"ttft_p0=1", "ttft_p100=1", "ttft_pp=1", "ttft=1", "ttft_90=1"})
    CHECK_THAT(complaint(wrong), Contains("an SLO has no metric "));
  for (const char* wrong : {"", "ttft_p90", "ttft_p90=", "ttft_p90=0", "ttft_p90=-1",
                            "ttft_p90=inf", "ttft_p90=2s", "ttft_p90=2,", "ttft_p90=nan"})
    CHECK_THAT(complaint(wrong),
               Contains("is no limit: METRIC=NUMBER, as ttft_p90=2, the number above 0"));
  CHECK_THAT(complaint("preemptions=-1"), Contains("ttft_p90=2, the number 0 or more"));
  for (const char* twice :
       {"ttft_p90=1,ttft_p90=2", "ttft_p90=1,ttft_p90_s=2", "ttft_p090_s=1,ttft_p90=2"})
    CHECK_THAT(complaint(twice), Contains("ttft_p90 has two limits"));
}
