#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/answer.hpp"
#include "analysis/compare/published.hpp"

namespace analysis {

/// A figure of a policy at a place and rate, beside the other policies there.
struct Rated {
  std::string unit;
  Estimate mean;
  Ratio over_fcfs;             // without values if fcfs did not run here
  std::string standing, mark;  // standing_text(), standing_mark()
  double published = sweep::kNotObserved;
};

/// Of each policy of the row, in its order. Adds the sources of the published values that it gives.
std::vector<Rated> rate(const RateRow& row, const std::string& figure,
                        std::span<const Published> published, std::vector<std::string>& sources);

}  // namespace analysis
