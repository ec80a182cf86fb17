#include "workers/workload/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/trace_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/read_trace.hpp"

using engine::Nanos;
using namespace workload;
using namespace std::chrono_literals;

namespace {

using Times = std::vector<Nanos>;

/// A trace file with this text.
class Trace {
 public:
  explicit Trace(const std::string& text) : path_(folder_.write("trace", text)) {}

  Times arrivals() const { return trace_arrivals(path_); }
  /// The error message behind the path, or "" if there is none.
  std::string error() const {
    try {
      trace_arrivals(path_);
    } catch (const engine::InputError& e) {
      const std::string message = e.what();
      CHECK(message.starts_with(path_));
      return message.substr(path_.size());
    }
    return "";
  }

 private:
  support::TempDir folder_;
  std::string path_;
};

}  // namespace

TEST_CASE("45 seconds of Poisson arrivals with seed 42 bring the published numbers of jobs",
          "[arrivals]") {
  CHECK(poisson_arrivals_in_window(1, 42, 45).size() == 54);
  CHECK(poisson_arrivals_in_window(3, 42, 45).size() == 133);
  CHECK(poisson_arrivals_in_window(6, 42, 45).size() == 255);
  CHECK(poisson_arrivals_in_window(10, 42, 45).size() == 433);
  CHECK(poisson_arrivals_in_window(15, 42, 45).size() == 665);
}

TEST_CASE("Poisson arrivals are the running sum of CPython's exponential intervals", "[arrivals]") {
  // random.Random(42).expovariate(6), summed, to the nanosecond
  CHECK(poisson_arrivals(6, 42, 5) == Times{Nanos{170'010'048}, Nanos{174'231'521},
                                            Nanos{227'835'532}, Nanos{269'933'229},
                                            Nanos{492'198'675}});
}

TEST_CASE("a window holds a prefix of the arrivals that a count gives", "[arrivals]") {
  const auto counted = poisson_arrivals(6, 7, 400);
  const auto windowed = poisson_arrivals_in_window(6, 7, 45);
  REQUIRE(windowed.size() < counted.size());
  CHECK(std::equal(windowed.begin(), windowed.end(), counted.begin()));
  CHECK(counted[windowed.size()] > std::chrono::seconds{45});
  CHECK(std::is_sorted(counted.begin(), counted.end()));
}

TEST_CASE("a window shorter than the first interval is empty", "[arrivals]") {
  CHECK(poisson_arrivals_in_window(1, 42, 0.5).empty());
}

TEST_CASE("arrivals depend on the seed", "[arrivals]") {
  CHECK(poisson_arrivals(6, 42, 10) == poisson_arrivals(6, 42, 10));
  CHECK(poisson_arrivals(6, 42, 10) != poisson_arrivals(6, 43, 10));
}

TEST_CASE("a rate that is no positive number is refused", "[arrivals]") {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const double rate : {0.0, -1.0, nan, infinite, -infinite}) {
    CAPTURE(rate);
    CHECK_THROWS_AS(poisson_arrivals(rate, 42, 1), engine::InputError);
    CHECK_THROWS_AS(poisson_arrivals_in_window(rate, 42, 45), engine::InputError);
  }
}

TEST_CASE("a window that is not a positive number of seconds is refused", "[arrivals]") {
  for (const double window : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_AS(poisson_arrivals_in_window(6, 42, window), engine::InputError);
}

TEST_CASE("rates with arrivals beyond memory or time are refused", "[arrivals]") {
  CHECK_THROWS_AS(poisson_arrivals_in_window(1e300, 42, 45), engine::InputError);
  CHECK_THROWS_AS(poisson_arrivals(1e-300, 42, 1), engine::InputError);
}

TEST_CASE("a closed batch arrives at the start", "[arrivals]") {
  CHECK(closed_batch(3) == Times(3, Nanos{0}));
}

TEST_CASE("a trace of plain numbers gives seconds; empty lines and comments are passed over",
          "[arrivals]") {
  CHECK(Trace("# recorded on Monday\n0\n0.5\n\n 0.5 \r\n12e1\n").arrivals() ==
        Times{0s, 500ms, 500ms, 120s});
}

TEST_CASE("of a trace the arrivals are when its jobs begin", "[arrivals]") {
  const auto job = [](const std::string& id, const std::string& more) {
    return trace_test::TraceText().job(id, {{{{"1", 20}}, 4}}, more).str();
  };
  trace_test::TraceText two;
  two.job("a", {{{{"1", 20}}, 4}}, ", \"arrival_s\": 2")
      .job("b", {{{{"1", 20}}, 4}}, ", \"arrival_s\": 0.5");
  CHECK(Trace(two.str()).arrivals() == Times{500ms, 2s});
  CHECK(Trace(job("a", "")).error().find("has no arrival_s") != std::string::npos);
}

TEST_CASE("a trace that goes back in time is refused with the line", "[arrivals]") {
  CHECK(Trace("1\n\n3\n2\n").error() ==
        ":4: found 2.000000 s after 3.000000 s, allowed times that never decrease");
}

TEST_CASE("a value that is no time is refused with line, value and what is allowed", "[arrivals]") {
  CHECK(Trace("0\nsoon\n").error() ==
        ":2: found 'soon', allowed a time from 0 to 1e9 seconds after the start, or a trace "
        "(docs/traces.md)");
  CHECK(Trace("-1\n").error().starts_with(":1: found '-1', allowed a time from 0"));
  for (const char* text :
       {"0\nnan\n", "0\ninf\n", "0\n1e300\n", "0\n1 2\n", "t_s\n1\n", "a,t_s\n"}) {
    CAPTURE(text);
    CHECK_FALSE(Trace(text).error().empty());
  }
}

TEST_CASE("a trace that is missing or holds no arrivals is refused", "[arrivals]") {
  CHECK_THROWS_AS(trace_arrivals("/nonexistent/trace.csv"), engine::InputError);
  CHECK_THROWS_AS(trace_arrivals("/"), engine::InputError);
  CHECK_THROWS_AS(Trace("").arrivals(), engine::InputError);
  CHECK(Trace("# none\n").error() == ": found no arrivals, allowed at least one");
}
