#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/arrangement.hpp"
#include "analysis/compare/estimate.hpp"
#include "sweeps/spec/spec.hpp"

namespace analysis {

/// A comparison that a sweep declares before it runs, in `sweep.contrasts`.
struct Contrast {
  std::string value, base;  // variants, as tables name them
  std::vector<std::pair<std::string, std::vector<std::string>>> at;  // keys, and the values allowed
  friend bool operator==(const Contrast&, const Contrast&) = default;
};

/// Reads "continuum / fcfs" or "lmcache-16G / fcfs at jps=3,6 gpu=h100-80gb". Throws
/// std::invalid_argument, which says what is allowed.
Contrast parse_contrast(const std::string& text);

/// Those of a sweep file. Throws sweep::SpecError with the place of the first that is wrong.
std::vector<Contrast> contrasts_of(const sweep::SweepSpec& spec);

/// A declared comparison at one place and rate.
struct ContrastResult {
  std::size_t contrast;  // position among those declared
  Place place;
  std::string jps;
  Ratio ratio;  // p adjusted by Holm's rule over all results
};

/// Of every row that has both policies, in the order of the contrasts.
std::vector<ContrastResult> contrast_results(std::span<const Contrast> contrasts,
                                             std::span<const RateRow> rows,
                                             std::string_view figure);

/// A line for each contrast, kind of figures, GPU and setting: "continuum / fcfs: h100-80gb: at 3
/// jobs/s 0.25 (0.24 .. 0.26), p < 0.001; at 6 jobs/s 0.25 (0.24 .. 0.26), p < 0.001".
std::vector<std::string> contrast_lines(std::span<const Contrast> contrasts,
                                        std::span<const ContrastResult> results);

}  // namespace analysis
