#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/estimate.hpp"

namespace analysis {

/// A policy at one card and rate.
struct Contender {
  std::string name;
  std::string dram;  // its host memory; "-": no host tier
  BySeed values;     // of the figure that decides
};

/// How a contender stands to the best one.
enum class Standing : std::uint8_t {
  absent,  // it has no values, or another size of host memory
  best,
  tied,   // it differs by less than 1 %, or repeats do not tell the two apart
  behind  // more than that; below three repeats nothing tells how surely
};

std::string_view name_of(Standing standing);  // "best", "tie", "behind"; empty for absent
/// The better of the two.
Standing better(Standing a, Standing b);

/// Who is best at one card, rate and size of host memory. Policies without a host tier and those
/// with that size compete, in one family: the p-values of the others against the best are adjusted
/// by Holm's rule, and tell apart at 5 %.
struct Decision {
  std::string dram;
  std::vector<Standing> standings;  // of each contender
  std::size_t best = 0;             // the one with the best mean
  std::vector<std::size_t> tied;    // best first
  std::optional<std::size_t> next;  // the best of those behind
  Ratio next_over_best;             // empty without a next
};

/// A decision for each size of host memory, in the order of the contenders; for sizes with at least
/// one value. None for a figure that is better neither way.
std::vector<Decision> decide(std::span<const Contender> contenders, Direction direction);

/// What is best, and where: "best", "tie", or with several sizes of host memory "best with 16 GiB";
/// empty for one behind everywhere.
std::string standing_text(std::span<const Decision> decisions, std::size_t contender);

}  // namespace analysis
