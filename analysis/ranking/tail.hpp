#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ranking/policy_rows.hpp"

namespace analysis {

// What a mean hides: how long the last 1 % of turns and jobs take. Texts that name a winner say it.

struct TailFigure {
  std::string_view figure, name;
};
inline constexpr std::array<TailFigure, 3> kTailFigures = {
    {{"ttft_p99_s", "TTFT"}, {kFirstTokenP99, "first token"}, {"jct_wall_p99_s", "JCT"}}};

/// A tail is worse from this multiple of fcfs's on.
inline constexpr double kWorseTail = 1.3;

/// A policy's 99th percentiles at a place and rate, in the order of kTailFigures.
struct Tail {
  struct Value {
    double s = sweep::kNotObserved;          // mean over the repeats
    double over_fcfs = sweep::kNotObserved;  // over equal seeds; NaN without `fcfs`
    bool is_worse() const { return over_fcfs > kWorseTail; }
  };
  std::string policy, jps;
  std::string fcfs;  // the variant of fcfs that it is compared with; empty: there is none
  std::array<Value, kTailFigures.size()> values;
};

Tail tail_of(const RateRow& row, const PolicyCells& policy);

/// "p99: TTFT 9.82 to 24.6 s, first token 8.02 s, JCT 109.0 s", from the least to the most, and
/// whether there is no fcfs to compare it with; empty if nothing was observed.
std::string p99_text(std::span<const Tail> tails);

/// "its p99 TTFT is 1.35 times fcfs's at 6 jobs/s", or of several policies "continuum's p99 ...";
/// empty if none is worse.
std::string worse_text(std::span<const Tail> tails);

}  // namespace analysis
