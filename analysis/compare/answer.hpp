#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/decision.hpp"

namespace analysis {

/// The figure by which policies are compared unless another is asked for.
inline constexpr std::string_view kAnswerFigure = "jct_wall_mean_s";

/// Where policies compete: figures of one kind, on one card, with equal settings.
struct Place {
  std::string kind, gpu, settings;  // settings: "workload.gap_s=1", or empty
  friend bool operator==(const Place&, const Place&) = default;
};

/// The best policy at a rate with a given size of host memory. Policies without a host tier and
/// policies with that size compete.
struct Regime {
  Place place;
  std::string dram, jps;
  std::string winner;
  std::vector<std::string> tied;  // policies that tie with the winner, best first
  std::string next;               // the best of the others; empty if all tie
  Estimate value, next_value;     // means of the winner and the next
  Ratio next_over_winner;         // empty without a next
};

/// One for each size of host memory for which there are at least two contenders.
std::vector<Regime> regimes_of(const Place& place, const std::string& jps,
                               std::span<const Contender> contenders, Direction direction);

/// The regimes in sentences, a line for each place and size of host memory:
/// "h100-80gb with 16 GiB: at 3 and 6 jobs/s continuum is best (fcfs, the next, takes 4.01 (3.90 ..
/// 4.10) and 4.02 (...) times as long)". By kAnswerFigure.
std::vector<std::string> answer_lines(std::span<const Regime> regimes);
/// What these lines compare, of which kind and over how many seeds; empty without regimes.
std::string answer_heading(std::span<const Regime> regimes);

/// The repeats of a policy at one place and rate.
struct PolicyCells {
  Place place;
  std::string jps, policy;
  std::vector<const ConfiguredCell*> repeats;
};

/// Policies whose mechanism did nothing in some cells with results, so that nothing there is its
/// doing: pins that held no KV, a host tier in which nothing was found; and policies with equal
/// results.
std::vector<std::string> idle_mechanisms(std::span<const PolicyCells> policies);

}  // namespace analysis
