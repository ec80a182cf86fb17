#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/answer.hpp"
#include "analysis/compare/published.hpp"

namespace analysis {

/// Rates at which a publication has another policy ahead of the best one here. Policies that tie
/// with the best, or are not told from it, do not contradict it, nor do values less than 1 % apart.
struct PublishedWinner {
  std::string place, gpu, dram;      // place: name_of() the regimes
  std::string ours, theirs, source;  // variants; the publication
  std::vector<std::string> rates;
  std::vector<Ratio> ours_over_theirs{};  // of the published values, at each rate
  std::vector<std::string> claims{};      // of the same two policies, if they are known: "R-7"
};

/// In the order of the regimes.
std::vector<PublishedWinner> published_otherwise(std::span<const RateRow> rows,
                                                 std::span<const Regime> regimes,
                                                 std::span<const Published> published);

/// "published otherwise (72-run policy matrix; claim R-7): at 3 and 6 jobs/s continuum is best,
/// cpu_offload-128G takes 1.12 to 1.16 times as long"
AnswerLine line_of(const PublishedWinner& otherwise);
std::vector<AnswerLine> lines_of(std::span<const PublishedWinner> otherwise);

}  // namespace analysis
