#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/arrangement.hpp"
#include "analysis/answer/contrasts.hpp"
#include "analysis/compare/decision.hpp"

namespace analysis {

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
  std::size_t repeats = 0;        // the fewest that two policies have in common
};

std::vector<std::string> names_of(std::span<const Regime::Other> others);

/// One for each amount of host memory for which there are at least two contenders.
std::vector<Regime> regimes_of(const Place& place, const std::string& jps,
                               std::span<const Contender> contenders, Direction direction);
/// Of all rows, by one figure.
std::vector<Regime> regimes_of(std::span<const RateRow> rows, std::string_view figure);

/// The contenders of a row, in its order.
std::vector<Contender> contenders_of(const RateRow& row, std::string_view figure);

/// Which policy is best where, in texts for readers.
struct Answer {
  /// What is compared, of which kind and over how many seeds; empty without regimes.
  std::string heading;
  /// The comparisons that the sweep declared: contrast_lines(); empty if it declared none.
  std::vector<std::string> declared;
  /// A line for each place and amount of host memory: "h100-80gb with 16 GiB: at 3 and 6 jobs/s
  /// continuum is best (next: fcfs, 4.01 (3.90 .. 4.10) times as long at 3 jobs/s and 4.02 (...) at
  /// 6)".
  std::vector<std::string> lines;
  /// How much of it the parts of the best policies have alone: explain() of effects.hpp.
  std::vector<std::string> why;
  /// Mechanisms that did nothing, or almost nothing: idle_mechanisms() of mechanisms.hpp.
  std::vector<std::string> idle;
};

/// By kAnswerFigure.
Answer answer_of(std::span<const RateRow> rows, std::span<const Contrast> contrasts = {});

/// "30 of 32 cells have a result; missing with gpu=h100-80gb: policy=pin jps=3 and policy=pin
/// jps=6", from the labels of the cells without a result: what all have in common comes first, and
/// of many the first are named.
std::string coverage_text(std::size_t planned, const std::vector<std::string>& missing);

/// The commands that run what would tell why the best policies are fast, from the command that ran
/// the sweep: those of missing_ablations() of effects.hpp.
std::vector<std::string> commands_that_tell(std::span<const RateRow> rows, const std::string& run);

std::vector<std::string> answer_lines(std::span<const Regime> regimes);
std::string answer_heading(std::span<const Regime> regimes);

}  // namespace analysis
