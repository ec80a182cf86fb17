#include "workers/workload/generators.hpp"

#include <cmath>
#include <map>
#include <numeric>

#include "tests/support/catch.hpp"
#include "tests/workload/generated_jobs.hpp"
#include "workers/engine/base/errors.hpp"

using namespace workload;
using namespace std::chrono_literals;

namespace {

constexpr int kPublishedTurns = 1791;

/// Seeds for which the properties are checked: the default and twenty others.
std::vector<std::int64_t> seeds() {
  std::vector<std::int64_t> all(21);
  std::iota(all.begin(), all.end(), 1);
  all.back() = 42;
  return all;
}

template <class Of>
std::vector<int> over_turns(const Workload& w, Of of) {
  std::vector<int> values;
  for (const Job& job : w.jobs)
    for (const Turn& turn : job.turns) values.push_back(of(turn));
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<int> prompts(const Workload& w) {
  return over_turns(w, [](const Turn& turn) { return turn.prompt_tokens; });
}

std::vector<int> answers(const Workload& w) {
  return over_turns(w, [](const Turn& turn) { return turn.output_tokens; });
}

int quantile(const std::vector<int>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

std::map<std::string, double> tool_percent(const Workload& w) {
  std::map<std::string, double> shares;
  const auto tools = over_turns(w, [](const Turn& turn) { return static_cast<int>(turn.tool); });
  for (const int tool : tools)
    shares[w.tools.at(static_cast<std::size_t>(tool))] += 100.0 / static_cast<double>(tools.size());
  return shares;
}

}  // namespace

TEST_CASE("100 jobs have 1,791 turns, 10 to 30 each", "[swe_smith_like]") {
  for (const auto seed : seeds()) {
    CAPTURE(seed);
    const auto w = make_swe_smith_like({.seed = seed});
    REQUIRE(w.jobs.size() == 100);
    CHECK(prompts(w).size() == kPublishedTurns);
    for (const Job& job : w.jobs) {
      REQUIRE(job.turns.size() >= 10);
      REQUIRE(job.turns.size() <= 30);
    }
  }
}

TEST_CASE("the sum of turns is 17.91 a job for any number of jobs", "[swe_smith_like]") {
  for (const int jobs : {1, 2, 7, 250, 1000}) {
    CAPTURE(jobs);
    CHECK(static_cast<long>(prompts(make_swe_smith_like({.jobs = jobs})).size()) ==
          std::lround(17.91 * jobs));
  }
}

TEST_CASE("the median prompt is 6,945 tokens within 2 % and the median answer is 30",
          "[swe_smith_like]") {
  for (const auto seed : seeds()) {
    CAPTURE(seed);
    const auto w = make_swe_smith_like({.seed = seed});
    CHECK(quantile(prompts(w), 0.5) == Approx(6945).epsilon(0.02));
    CHECK(quantile(answers(w), 0.5) == 30);
  }
}

TEST_CASE("answers have the tail of real ones: p90 near 82 tokens, p99 near 185",
          "[swe_smith_like]") {
  const auto values = answers(make_swe_smith_like({.jobs = 1000}));
  CHECK(quantile(values, 0.9) == Approx(82).epsilon(0.1));
  CHECK(quantile(values, 0.99) == Approx(185).epsilon(0.25));
  CHECK(values.front() == 9);
  CHECK(values.back() <= 2000);
}

TEST_CASE("tools are called in the published shares, and every job ends with submit",
          "[swe_smith_like]") {
  const std::map<std::string, double> published = {{"cd", 26},
                                                   {"editor_view", 21},
                                                   {"editor_create", 13},
                                                   {"editor_str_replace", 12},
                                                   {"submit", 11},
                                                   {"find", 6},
                                                   {"rm", 5},
                                                   {"grep", 4},
                                                   {"others", 2}};
  for (const auto seed : seeds()) {
    CAPTURE(seed);
    const auto w = make_swe_smith_like({.seed = seed});
    const auto found = tool_percent(w);
    CHECK(found.size() == published.size());
    for (const auto& [tool, percent] : published) {
      CAPTURE(tool);
      CHECK(found.at(tool) == Approx(percent).margin(0.1));
    }
    for (const Job& job : w.jobs)
      REQUIRE(w.tools[engine::index(job.turns.back().tool)] == "submit");
  }
}

TEST_CASE("no job outgrows the context, and few reach it", "[swe_smith_like]") {
  for (const auto seed : seeds()) {
    CAPTURE(seed);
    const auto w = make_swe_smith_like({.seed = seed});
    int full = 0;
    for (const Job& job : w.jobs) {
      REQUIRE(job.tokens.size() <= 16'384);
      full += job.tokens.size() > 16'300;
    }
    CHECK(full < 50);
  }
}

TEST_CASE("a smaller context is kept by every job, down to the smallest that is allowed",
          "[swe_smith_like]") {
  for (const int context : {12'000, 8192, 4096}) {
    CAPTURE(context);
    const auto w = make_swe_smith_like({.jobs = 1000, .max_context = context});
    for (const Job& job : w.jobs) REQUIRE(job.tokens.size() <= static_cast<std::size_t>(context));
    generated::check_workload(w, 1s, 128'000);
  }
}

TEST_CASE("segments and turns cover a job's tokens, with the gap between turns",
          "[swe_smith_like]") {
  generated::check_workload(make_swe_smith_like({}), 1s, 128'000);
  generated::check_workload(make_swe_smith_like({.jobs = 10, .gap_s = 0.25, .vocabulary = 1000}),
                            250ms, 1000);
}

TEST_CASE("a turn is made of the parts that real turns have", "[swe_smith_like]") {
  const auto w = make_swe_smith_like({.jobs = 1});
  std::vector<SegmentKind> kinds;
  for (std::size_t i = 0; i < 9; ++i) kinds.push_back(w.jobs[0].segments[i].kind);
  using enum SegmentKind;
  CHECK(kinds == std::vector{system, user, role_prefix, assistant_text, tool_calls, tool_block,
                             end_of_turn, tool_response, role_prefix});
  CHECK(w.jobs[0].segments[0].tokens == 604);
  CHECK(w.jobs[0].segments[5].tokens == 5);
}

TEST_CASE("any two jobs share the system prompt's 604 tokens and nothing else",
          "[swe_smith_like]") {
  for (const std::int64_t seed : {42, 1, 2, 3}) {
    CAPTURE(seed);
    const auto w = make_swe_smith_like({.jobs = 200, .seed = seed});
    CHECK(generated::all_share_exactly(w, 604));
    CHECK(generated::repeated_blocks(w, 604) == 0);
  }
}

TEST_CASE("the same seed gives the same jobs and another seed other ones", "[swe_smith_like]") {
  const auto checksum = [](std::int64_t seed) {
    return generated::checksum(make_swe_smith_like({.jobs = 5, .seed = seed}));
  };
  CHECK(checksum(42) == checksum(42));
  CHECK(checksum(42) != checksum(43));
  CHECK(checksum(42) == 0xa43963b0842a8db4U);  // archives depend on these jobs
}

TEST_CASE("a configuration that describes no workload is refused", "[swe_smith_like]") {
  CHECK_THROWS_AS(make_swe_smith_like({.jobs = 0}), engine::InputError);
  CHECK_THROWS_AS(make_swe_smith_like({.gap_s = -1}), engine::InputError);
  CHECK_THROWS_AS(make_swe_smith_like({.gap_s = std::nan("")}), engine::InputError);
  CHECK_THROWS_AS(make_swe_smith_like({.max_context = 4095}), engine::InputError);
  CHECK_THROWS_WITH(make_swe_smith_like({.jobs = -3}), "jobs: found -3, allowed 1 to 100000");
}
