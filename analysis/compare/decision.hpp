#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/estimate.hpp"

namespace analysis {

/// Smaller relative differences are ties.
inline constexpr double kEqual = 0.01;

/// A policy at one GPU and rate.
struct Contender {
  std::string name;
  std::string dram;  // its host memory, GiB; "-": no host tier
  BySeed values;     // of the figure that decides
};

/// How a contender stands to the best one.
enum class Standing : std::uint8_t {
  absent,  // it has no values, or another amount of host memory
  best,
  tied,       // less than 1 % apart; the best one, too, is then tied
  undecided,  // further apart, but the repeats do not tell them apart
  behind      // told apart; below three repeats nothing says how surely
};

/// Another contender and how it compares with the best one.
struct Rival {
  std::size_t at = 0;
  Ratio over_best;  // p adjusted for the number of rivals; the interval is not
  Standing standing = Standing::behind;
};

/// The best policy at one GPU, rate and amount of host memory. Policies without a host tier and
/// those with that amount compete. They are one family: the p-values of the others against the best
/// are adjusted by Holm's rule, and tell them apart at 5 %.
struct Decision {
  std::string dram;
  std::size_t best = 0;             // no other one has a better geometric mean over equal seeds
  std::vector<Rival> rivals;        // from the nearest to the furthest
  std::vector<Standing> standings;  // of each contender
};

/// A decision for each amount of host memory, in the order of the contenders, where one of them has
/// values. None for a figure that is better neither way.
std::vector<Decision> decide(std::span<const Contender> contenders, Direction direction);

/// "best", "tie", "undecided"; with several amounts of host memory where: "best with 16 GiB". Empty
/// for one behind everywhere. The mark says the same in a few characters: "*", "=", "?", "*16G".
struct StandingTexts {
  std::string text, mark;
};
StandingTexts texts_of(std::span<const Decision> decisions, std::size_t contender);

}  // namespace analysis
