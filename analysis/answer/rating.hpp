#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/answer.hpp"
#include "analysis/compare/published.hpp"

namespace analysis {

/// Seconds below which no policy can bring the mean completion time of a cell, by the cell's key.
using CellBounds = std::map<std::string, double>;

/// A figure of a policy at a place and rate, beside the other policies there.
struct Rated {
  std::string unit;
  Estimate mean;
  Ratio over_fcfs;             // without values if base_of() is null
  std::string standing, mark;  // standing_text(), standing_mark()
  double published = sweep::kNotObserved;
  // Of kAnswerFigure, where bounds are given.
  double bound = sweep::kNotObserved;  // mean over the repeats
  double best = sweep::kNotObserved;   // the least mean of the row

  double certified_regret() const { return mean.value / bound; }  // at most
  double regret_to_best() const { return mean.value / best; }     // at least
};

/// Of each policy of the row, in its order. Adds the sources of the published values that it gives.
std::vector<Rated> rate(const RateRow& row, const std::string& figure,
                        std::span<const Published> published, std::vector<std::string>& sources,
                        const CellBounds& bounds = {});

/// "MODELLED bound" beside what was measured, since the costs of a card are not known exactly.
std::string bound_name(const Place& place);
/// "at 3 jobs/s the optimum is in [38.00, 52.00] s", of rated policies; empty without bounds.
std::string bracket_text(const Place& place, const std::string& jps, std::span<const Rated> rated);

}  // namespace analysis
