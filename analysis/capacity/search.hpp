#pragma once
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "analysis/compare/estimate.hpp"

namespace analysis {

// The search for the largest load that meets an objective, as a function of results. It replays its
// decisions from the first: what it asks for next depends only on answers that it has asked for. So
// the results that a killed search left lead to the same questions and the same answer, in whatever
// order they came.

/// Loads from the least to the most, each larger than the one before by `step` (0.1: 10 %), whole
/// numbers or with three digits; `also` are among them.
std::vector<double> loads_between(double least, double most, double step, bool whole,
                                  std::vector<double> also = {});

/// The answers on one seed, by number of the load.
struct SeedAnswers {
  std::map<std::size_t, bool> met;

  /// The smallest load that misses the objective.
  std::optional<std::size_t> miss() const;
  /// The largest load that meets it below that.
  std::optional<std::size_t> most() const;
  /// Loads that meet it above one that does not.
  std::vector<std::size_t> above() const;
};

/// The load to try next; none when the answer is known. From `start` it moves away in steps that
/// double until it has one load that meets the objective and one that misses it, halves the
/// interval between them, and then looks two loads below and above: where a smaller load misses,
/// the answer is below it.
std::optional<std::size_t> next_load(const SeedAnswers& answers, std::size_t start,
                                     const std::vector<double>& loads);

struct SearchRules {
  std::vector<double> loads;
  int most_seeds = 3;
};

/// A cell that is asked for.
struct Question {
  std::size_t load;
  int seed;  // the number of the repeat
  auto operator<=>(const Question&) const = default;
};

/// Whether the load meets the objective on this seed; none: not known.
using MeetsAt = std::function<std::optional<bool>(const Question&)>;

/// The search for one row so far.
struct RowSearch {
  std::vector<SeedAnswers> seeds;
  std::vector<Question> asked, open;  // open: without an answer
  bool is_over() const { return open.empty(); }
  /// Whether every seed misses at the least load, or meets at the largest.
  bool none_meets() const;
  bool all_meet(const SearchRules& rules) const;
  /// Whether some seed meets at the largest load: the capacity is this one at least.
  bool is_cut_off(const SearchRules& rules) const;
  /// The capacity on each seed that is over: its load; 0 where even the least misses.
  BySeed capacities(const SearchRules& rules) const;
};

/// Searches on three seeds, and on more of them while the 95 % interval of the capacity reaches
/// further than one load; these start where the first three ended. Where a seed is not monotone,
/// each is searched at every load from half its answer on.
RowSearch search_row(const SearchRules& rules, const MeetsAt& meets);

/// The number of the largest load that is not above `load`; 0 if all are.
std::size_t load_below(const std::vector<double>& loads, double load);

}  // namespace analysis
