#include "workers/workload/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
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

TEST_CASE("a CSV trace is read from its column t_s, wherever that is", "[arrivals]") {
  CHECK(Trace("job,t_s,note\na,0.25,x\nb,\"1.5\",\n").arrivals() == Times{250ms, 1500ms});
  CHECK(Trace("\xEF\xBB\xBFt_s\r\n3\r\n").arrivals() == Times{3s});
}

TEST_CASE("dates in a TIMESTAMP column count from the first row, across midnight and leap days",
          "[arrivals]") {
  CHECK(Trace("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
              "2024-02-28 23:59:59.5000000,4808,10\r\n"
              "2024-02-28 23:59:59.75,3180,8\r\n"
              "2024-02-29 00:00:00,110,27\r\n"
              "2024-03-01T00:00:00.000001+00:00,1,1\r\n")
            .arrivals() == Times{0s, 250ms, 500ms, 24h + 500001us});
}

TEST_CASE("JSON lines are read from timestamp in milliseconds or t_s in seconds", "[arrivals]") {
  CHECK(Trace("{\"timestamp\": 0, \"job\": 1}\n{\"timestamp\": 2500}\n").arrivals() ==
        Times{0s, 2500ms});
  CHECK(Trace("{\"t_s\": 1.25}\n").arrivals() == Times{1250ms});
}

TEST_CASE("the public traces are read as they are published", "[arrivals]") {
  const auto traces = support::shared_path("data/traces");
  if (!traces) SKIP_TEST("there is no folder of reference data");
  const auto azure = trace_arrivals(*traces / "AzureLLMInferenceTrace_code_2023.csv.xz");
  CHECK(azure.size() == 8819);
  CHECK(azure.front() == 0s);
  CHECK(azure[1] == 52ms);
  const auto mooncake = trace_arrivals(*traces / "mooncake_conversation_trace.jsonl.xz");
  CHECK(mooncake.size() == 12'031);
  CHECK(mooncake.back() == 3'536'999ms);
}

TEST_CASE("of a trace of sessions the arrivals are when its sessions begin", "[arrivals]") {
  const auto request = [](const char* session, const char* rest) {
    return std::string(
               R"({"input_length": 20, "output_length": 4, "hash_ids": [1], "session_id": )") +
           '"' + session + '"' + rest + "}\n";
  };
  CHECK(Trace(request("a", R"(, "timestamp": 500)") + request("a", R"(, "timestamp": 900)") +
              request("b", R"(, "timestamp": 2000)"))
            .arrivals() == Times{500ms, 2s});
  CHECK(Trace(request("a", R"(, "delay_ms": 5)")).error().find("has no time of arrival") !=
        std::string::npos);
}

TEST_CASE("a trace that goes back in time is refused with the line", "[arrivals]") {
  CHECK(Trace("1\n\n3\n2\n").error() ==
        ":4: found 2.000000 s after 3.000000 s, allowed times that never decrease");
  CHECK(Trace("TIMESTAMP\n2024-01-02 00:00:00\n2024-01-01 00:00:00\n")
            .error()
            .starts_with(":3: found"));
}

TEST_CASE("a value that is no time is refused with line, value and what is allowed", "[arrivals]") {
  CHECK(Trace("0\nsoon\n").error() ==
        ":2: found 'soon', allowed a number of seconds since the start");
  CHECK(Trace("-1\n").error() ==
        ":1: found '-1', allowed a time from 0 to 1e9 seconds after the start");
  for (const char* text :
       {"0\nnan\n", "0\ninf\n", "0\n1e300\n", "0\n1 2\n", "t_s\n1\n\"\"\n", "a,t_s\n1,1\n1\n"}) {
    CAPTURE(text);
    CHECK_FALSE(Trace(text).error().empty());
  }
}

TEST_CASE("dates that the calendar does not have are refused with the line", "[arrivals]") {
  for (const char* date :
       {"2023-02-29 00:00:00", "2023-01-01 24:00:00", "2023-01-01", "2023-01-01 00:00:00.",
        "2023-01-01 00:00:00 CET", "2023-01-01 00:00:00.1234567891", "yesterday"}) {
    CAPTURE(date);
    CHECK(Trace(std::string("TIMESTAMP\n") + date + "\n")
              .error()
              .starts_with(":2: found '" + std::string(date)));
  }
}

TEST_CASE("broken JSON and JSON without a time are refused with the line", "[arrivals]") {
  CHECK(Trace("{\"timestamp\": 0}\n{\"timestamp\": 1\n")
            .error()
            .starts_with(":2:16: not valid JSON: "));
  for (const char* row : {"{\"arrival\": 1}", "{\"timestamp\": \"1\"}", "7"}) {
    CAPTURE(row);
    CHECK(
        Trace(std::string("{\"timestamp\": 0}\n") + row + "\n").error().starts_with(":2: found '"));
  }
}

TEST_CASE("a header without a column of times is refused", "[arrivals]") {
  CHECK(Trace("time,tokens\n1,2\n").error() ==
        ":1: found 'time,tokens', allowed a number of seconds, a CSV header with a column t_s or "
        "TIMESTAMP, or a JSON object");
}

TEST_CASE("a trace that is missing or holds no arrivals is refused", "[arrivals]") {
  CHECK_THROWS_AS(trace_arrivals("/nonexistent/trace.csv"), engine::InputError);
  CHECK_THROWS_AS(trace_arrivals("/"), engine::InputError);
  CHECK_THROWS_AS(Trace("").arrivals(), engine::InputError);
  CHECK(Trace("t_s\n").error() == ": found no arrivals, allowed at least one");
}
