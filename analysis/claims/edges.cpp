#include "analysis/claims/edges.hpp"

#include <cmath>

#include "analysis/compare/config.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

bool may_be_on_edge(const ClaimRow& row) {
  const bool is_decided =
      row.verdict == Verdict::reproduced || row.verdict == Verdict::not_reproduced;
  return is_decided && row.point->is_ratio && !row.claim->pooled &&
         row.claim->metric == "jct_wall_mean_s";
}

bool is_of(const ClaimRow& row, const ConfiguredCell& cell) {
  if (cell.record->status != sweep::CellStatus::ok || figures_kind(cell) != row.kind) return false;
  const std::string card = card_of(row);
  if (!card.empty() && shown(cell.value("gpu")) != card) return false;
  return matches(cell, row.point->cells) || matches(cell, row.point->base);
}

/// The least of the row's cells; NaN if none is on an edge.
double least_held_percent(const ClaimRow& row, std::span<const ConfiguredCell> cells,
                          std::span<const Published> coverage) {
  double least = sweep::kNotObserved;
  for (const ConfiguredCell& cell : cells)
    if (is_of(row, cell)) least = std::fmin(least, held_percent(cell, row.ours.repeats, coverage));
  return least;
}

/// Whether the verdict is the same with an interval twice as wide.
bool holds_twice_as_wide(const ClaimRow& row) {
  const double value = row.ours.value;
  const double low = row.ours.interval.low * row.ours.interval.low / value;
  const double high = row.ours.interval.high * row.ours.interval.high / value;
  const ClaimPoint& point = *row.point;
  if (row.verdict == Verdict::reproduced) return low >= point.low && high <= point.high;
  return high < point.low || low > point.high;
}

}  // namespace

void mark_edges(std::vector<ClaimRow>& rows, std::span<const ConfiguredCell> cells,
                std::span<const Published> coverage) {
  if (coverage.empty()) return;
  for (ClaimRow& row : rows) {
    if (!may_be_on_edge(row)) continue;
    const double percent = least_held_percent(row, cells, coverage);
    if (std::isnan(percent)) continue;
    const std::string edge = "on an edge: as few as " + four_digits(percent) +
                             " % of 95 % intervals with 3, 5 or 10 seeds hold";
    if (holds_twice_as_wide(row)) {
      row.reason += (row.reason.empty() ? "" : "; ") + edge;
    } else {
      row.reason = edge + "; by this one: " + std::string(verdict_name(row.verdict));
      row.verdict = Verdict::undecided;
    }
  }
}

}  // namespace analysis
