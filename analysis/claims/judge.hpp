#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/claims/claim.hpp"
#include "analysis/claims/metrics.hpp"
#include "analysis/compare/estimate.hpp"

namespace analysis {

enum class Verdict : std::uint8_t {
  reproduced,      // the interval of the number lies within the claimed limits
  not_reproduced,  // it lies outside
  undecided,       // it crosses a limit, or there are too few repeats or no cells
  assumed,         // the number follows from an input of the model
  refuted,         // the source's own number lies outside, in a claim with own_numbers
};
std::string_view verdict_name(Verdict verdict);

/// A claim's number in the archive, and the verdict.
struct ClaimRow {
  const Claim* claim;  // borrowed
  const ClaimPoint* point;
  std::string kind;  // "MODELLED (sim, published)", "MEASURED (cuda)"; empty without cells
  Verdict verdict = Verdict::undecided;
  /// Of a ratio that is claimed to lie above or below 1: whether it does, whatever its size.
  std::optional<Verdict> direction{};
  std::string reason{};      // set unless reproduced
  bool lacks_cells = false;  // no cells match; other rows without a number have cells that do
  Estimate ours{};
  std::string card{};                // the card of its cells, if it is not the publication's
  std::vector<std::string> cells{};  // the keys of those that the number is of
};

/// How far the number is from what the text says, by the limit that it misses: 0.1 if it is 10 %
/// above, and the number itself if the limit is 0. 0 within the limits, NaN without a number.
double distance_of(const ClaimRow& row);

/// The rows that are furthest from their texts first, and those without a number last.
void sort_by_distance(std::vector<ClaimRow>& rows);

/// The point, and the card if it is not the publication's: "16-gb", "16-gb on h200-141gb".
std::string place_of(const ClaimRow& row);

/// A row per point, kind of figures and card among the cells. A point without any result has one
/// row without figures. Cards have separate rows if where.gpu names several, with the publication's
/// first, and the claim is not pooled. Cells that appear twice count once.
std::vector<ClaimRow> judge_claims(std::span<const Claim> claims,
                                   std::span<const ConfiguredCell> cells);

/// The verdict over all rows of a claim and kind: refuted if one is, else not reproduced if one is,
/// else undecided if one is, else assumed if one is, else reproduced.
Verdict overall(std::span<const ClaimRow> rows);

}  // namespace analysis
