#pragma once
#include <array>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/decision.hpp"
#include "analysis/ranking/policy_rows.hpp"

namespace analysis {

// A mean hides how long the last 1 % of turns and jobs take. Texts that name a winner say it.

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

/// The figure by which policies are compared unless another is asked for.
inline constexpr std::string_view kAnswerFigure = "jct_wall_mean_s";

/// The best policy at a place and rate with a given amount of host memory.
struct Regime {
  /// Another policy, and its figure over the winner's.
  struct Other {
    std::string name;
    Ratio over_winner;
  };

  Place place;
  std::string dram, jps;
  std::string winner;
  std::vector<std::string> tied;  // policies that tie with the winner, nearest first
  std::vector<Other> undecided;   // policies that the repeats do not tell from the winner
  std::vector<Other> next;        // the best of those behind, and what is within 1 % of it
  Estimate value;                 // the winner's mean
  std::vector<Tail> tails;        // of the winner and those that tie
  std::size_t repeats = 0;        // the fewest that two policies have in common
};

/// "h100-80gb with 16 GiB"
std::string name_of(const Regime& regime);
std::vector<std::string> names_of(std::span<const Regime::Other> others);

/// One for each amount of host memory for which there are at least two contenders.
std::vector<Regime> regimes_of(const Place& place, const std::string& jps,
                               std::span<const Contender> contenders, Direction direction);
std::vector<Regime> regimes_of(std::span<const RateRow> rows, std::string_view figure);

std::vector<Contender> contenders_of(const RateRow& row, std::string_view figure);

struct AnswerLine {
  std::string place;  // "h100-80gb with 16 GiB": name_of()
  std::string says;
  std::string text() const { return place + ": " + says; }
  friend bool operator==(const AnswerLine&, const AnswerLine&) = default;
};

/// Which policy is best where, in texts for readers.
struct Answer {
  /// The figure compared, its kind, the number of seeds, and which cards' kernels are estimated;
  /// empty without regimes.
  std::string heading;
  /// A line for each place, amount of host memory and outcome: "at 3 and 6 jobs/s continuum is
  /// best (p99: TTFT 1.20 to 1.31 s, ...); fcfs takes 4.01 to 4.03 times as long (3.90 .. 4.10)".
  /// Ratios range over the rates, with an interval around all of theirs. A winner with a worse tail
  /// than fcfs says so: worse_text().
  std::vector<AnswerLine> lines;
};

/// By kAnswerFigure.
Answer answer_of(std::span<const RateRow> rows);

/// Lines for any figure that has a best: "takes 1.20 times as long" of times, "has 0.80 times as
/// much" of others.
std::vector<AnswerLine> answer_lines(std::span<const Regime> regimes,
                                     std::string_view figure = kAnswerFigure);
void print_answer_lines(std::span<const RateRow> rows, std::string_view figure, std::ostream& out);
std::string answer_heading(std::span<const Regime> regimes);

}  // namespace analysis
