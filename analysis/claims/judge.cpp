#include "analysis/claims/claims.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "analysis/compare/compare.hpp"
#include "analysis/compare/decision.hpp"
#include "analysis/text/list.hpp"

namespace analysis {
namespace {

using Cells = std::vector<const ConfiguredCell*>;
using Repeats = std::map<std::int64_t, Cells>;  // by seed, or by the value of the claim's draws

struct NoCells : CannotJudge {
  using CannotJudge::CannotJudge;
};

std::string shown_filter(const CellFilter& filter) {
  return sweep::joined(mapped(filter, [](const auto& entry) {
    return entry.first + '=' + sweep::joined(entry.second, "|");
  }));
}

std::int64_t repeat_of(const Claim& claim, const ConfiguredCell& cell) {
  if (claim.draws.empty()) return cell.record->seed;
  const auto value = cell.written(claim.draws);
  if (const auto* whole = value ? std::get_if<std::int64_t>(&*value) : nullptr) return *whole;
  throw CannotJudge("the cells have no whole number for " + claim.draws + ": " +
                    cell.record->label + " has " + shown(value));
}

/// The cells of one side of a claim, by repeat.
Repeats select(const ClaimRow& row, const CellFilter& filter, const Cells& cells) {
  const Claim& claim = *row.claim;
  const std::size_t wanted = row.point->group_size;
  Repeats repeats;
  const ConfiguredCell* first = nullptr;
  for (const ConfiguredCell* cell : cells) {
    if (!matches(*cell, filter)) continue;
    if (first == nullptr) first = cell;
    const auto difference = first_incomparable(*first, *cell, {claim.draws});
    if (!claim.pooled && difference) {
      throw CannotJudge("cells with " + shown_filter(filter) + " differ in " + difference->key +
                        ": " + shown(difference->a) + " and " + shown(difference->b));
    }
    repeats[repeat_of(claim, *cell)].push_back(cell);
  }
  if (repeats.empty()) {
    throw NoCells("no result with " + shown_filter(filter) +
                  (claim.experiment.empty() ? "" : "; experiment " + claim.experiment));
  }
  for (const auto& [seed, pool] : repeats) {
    if (!claim.pooled || wanted == 0 || pool.size() == wanted) continue;
    throw CannotJudge("a repeat has " + std::to_string(pool.size()) + " cells of the " +
                      std::to_string(wanted) + " that count together");
  }
  return repeats;
}

BySeed values_of(const Claim& claim, const Repeats& repeats) {
  BySeed values;
  for (const auto& [seed, cells] : repeats) {
    const double value = claim_metric(claim.metric, cells);
    if (std::isnan(value))
      throw CannotJudge("the cells have no " + claim.metric + ": " + cells.front()->record->label);
    values[seed] = value;
  }
  return values;
}

/// Keeps the repeats that both sides have; keeps all if they share none.
void keep_pairs(Repeats& a, Repeats& b) {
  const auto lacks = [](const Repeats& other) {
    return [&other](const auto& entry) { return !other.contains(entry.first); };
  };
  if (std::ranges::all_of(a, lacks(b))) return;
  std::erase_if(a, lacks(b));
  std::erase_if(b, lacks(a));
}

void add_cells(ClaimRow& row, const Repeats& repeats) {
  for (const auto& [seed, cells] : repeats)
    for (const ConfiguredCell* cell : cells) row.cells.push_back(cell->record->key);
}

/// The other side of a ratio, with the repeats that `value` has, too.
Repeats other_side(const ClaimRow& row, const CellFilter& filter, Repeats& value,
                   const Cells& cells) {
  Repeats other = select(row, filter, cells);
  std::vector<std::string> varied = row.point->varied;
  varied.push_back(row.claim->draws);
  const auto difference =
      first_incomparable(*other.begin()->second.front(), *value.begin()->second.front(), varied);
  if (!row.claim->pooled && difference) {
    throw CannotJudge("the two sides differ in " + difference->key + ": " + shown(difference->a) +
                      " and " + shown(difference->b));
  }
  keep_pairs(value, other);
  return other;
}

/// `from` less `values`, of the repeats that both have.
BySeed gain_over(const BySeed& from, const BySeed& values) {
  BySeed gains;
  for (const auto& [repeat, value] : values)
    if (const auto found = from.find(repeat); found != from.end())
      gains[repeat] = found->second - value;
  return gains;
}

/// A share of a gain that may be zero means nothing.
void require_gain(const Estimate& gain) {
  const bool known = !std::isnan(gain.interval.low);
  if (gain.value > 0 && (!known || gain.interval.low > 0)) return;
  throw CannotJudge("the base is not known to gain: " + four_digits(gain.value) +
                    (known ? ", " + interval_text(gain.interval) : ""));
}

void measure_ratio(ClaimRow& row, Repeats value, const Cells& cells) {
  const Repeats base = other_side(row, row.point->base, value, cells);
  BySeed ours = values_of(*row.claim, value), theirs = values_of(*row.claim, base);
  if (!row.point->from.empty()) {
    const Repeats from = other_side(row, row.point->from, value, cells);
    const BySeed before = values_of(*row.claim, from);
    ours = gain_over(before, ours);
    theirs = gain_over(before, theirs);
    require_gain(mean_of(theirs));
    add_cells(row, from);
  }
  add_cells(row, value);
  add_cells(row, base);
  const Ratio ratio = ratio_of(ours, theirs);
  if (!std::isfinite(ratio.value)) throw CannotJudge("the base of the ratio is 0");
  row.ours = ratio;
}

void measure(ClaimRow& row, const Repeats& value) {
  add_cells(row, value);
  row.ours = mean_of(values_of(*row.claim, value));
}

bool within(const ClaimPoint& point, double value) {
  // Limits are decimal fractions; a value equal to a limit must not fail by the rounding of a
  // ratio.
  constexpr double kRounding = 1e-9;
  return value >= point.low - kRounding * std::abs(point.low) &&
         value <= point.high + kRounding * std::abs(point.high);
}

std::string limit_text(const ClaimPoint& point, double value) {
  return value < point.low ? "below " + four_digits(point.low) : "above " + four_digits(point.high);
}

/// Whether the interval is missing although there are enough repeats for one.
bool lacks_interval(const ClaimRow& row) {
  return std::isnan(row.ours.interval.low) && row.ours.repeats >= kFewestRepeats;
}

/// With too few repeats for an interval, the interval is the value alone.
Interval interval_of(const ClaimRow& row) {
  const double ours = row.ours.value;
  return std::isnan(row.ours.interval.low) ? Interval{ours, ours} : row.ours.interval;
}

void decide(ClaimRow& row) {
  const ClaimPoint& point = *row.point;
  const double ours = row.ours.value;
  if (row.ours.repeats < row.claim->repeats) {
    row.reason = std::to_string(row.ours.repeats) + " of " + std::to_string(row.claim->repeats) +
                 " repeats; so far " +
                 (within(point, ours) ? "within the limits" : limit_text(point, ours));
    return;
  }
  if (lacks_interval(row)) {
    row.reason = "no seeds are equal, and some values are 0: no interval";
    return;
  }
  const Interval interval = interval_of(row);
  const bool low_in = within(point, interval.low), high_in = within(point, interval.high);
  if (low_in && high_in) {
    row.verdict = Verdict::reproduced;
  } else if (interval.high < point.low || interval.low > point.high) {
    row.verdict = Verdict::not_reproduced;
    row.reason = limit_text(point, ours);
  } else {
    row.reason = "the interval crosses " +
                 four_digits(low_in || interval.low > point.low ? point.high : point.low);
  }
}

/// 1 if the claimed ratio is above 1, -1 if below, 0 if within 1 % of it.
int claimed_side(const ClaimPoint& point) {
  if (!point.is_ratio || !point.from.empty()) return 0;
  if (point.low < 1 && point.high > 1) return 0;  // a claim of equality
  if (!std::isnan(point.published)) {
    if (std::abs(point.published - 1) < kEqual) return 0;
    return point.published > 1 ? 1 : -1;
  }
  return point.low >= 1 ? 1 : point.high <= 1 ? -1 : 0;
}

std::optional<Verdict> direction_of(const ClaimRow& row) {
  const int side = claimed_side(*row.point);
  if (side == 0) return std::nullopt;
  if (row.verdict == Verdict::assumed) return Verdict::assumed;
  if (row.ours.repeats < row.claim->repeats || lacks_interval(row)) return Verdict::undecided;
  const auto [low, high] = interval_of(row);
  if (low <= 1 && high >= 1) return Verdict::undecided;
  return (low > 1) == (side > 0) ? Verdict::reproduced : Verdict::not_reproduced;
}

/// Whether the source's own number lies outside what it says, by more than a tie.
bool contradicts_itself(const Claim& claim, const ClaimPoint& point) {
  return !claim.own_numbers.empty() &&
         (point.published < point.low - kEqual * std::abs(point.low) ||
          point.published > point.high + kEqual * std::abs(point.high));
}

/// Makes the row refuted, whatever our number is; the reason ends with that number's verdict.
void refute(ClaimRow& row) {
  const std::string published = four_digits(row.point->published);
  const std::string ours =
      std::isnan(row.ours.value) ? "" : "; by our cells: " + std::string(verdict_name(row.verdict));
  row.reason = "the source's own " + published + " (" + row.claim->own_numbers + ") is " +
               limit_text(*row.point, row.point->published) + ours;
  row.verdict = Verdict::refuted;
  row.direction.reset();
}

ClaimRow judge(const Claim& claim, const ClaimPoint& point, const FiguresKind& kind,
               const std::string& card, const Cells& cells) {
  ClaimRow row{&claim, &point, to_text(kind)};
  row.card = card;
  try {
    const Repeats value = select(row, point.cells, cells);
    point.is_ratio ? measure_ratio(row, value, cells) : measure(row, value);
    if (!claim.assumed.empty() && matches(*value.begin()->second.front(), claim.assumed)) {
      row.verdict = Verdict::assumed;
      row.reason = "an input: " + shown_filter(claim.assumed);
    } else {
      decide(row);
    }
  } catch (const NoCells& why) {
    row.reason = why.what();
    row.lacks_cells = true;
  } catch (const CannotJudge& why) {
    row.reason = why.what();
  }
  row.direction = direction_of(row);
  if (contradicts_itself(claim, point)) refute(row);
  return row;
}

/// The cells by card that the claim is judged for; the publication's card has the empty name.
std::vector<std::pair<std::string, Cells>> by_card(const Claim& claim, const ClaimPoint& point,
                                                   const Cells& cells) {
  const auto filter = point.cells.find("gpu");
  if (claim.pooled || filter == point.cells.end() || filter->second.size() < 2)
    return {{"", cells}};
  std::vector<std::pair<std::string, Cells>> cards;
  for (const std::string& card : filter->second) {
    Cells& own = cards.emplace_back(cards.empty() ? "" : card, Cells{}).second;
    for (const ConfiguredCell* cell : cells)
      if (matches(*cell, {{"gpu", {card}}})) own.push_back(cell);
  }
  return cards;
}

/// Cells that appear twice count once.
std::map<FiguresKind, Cells> by_kind(std::span<const ConfiguredCell> cells) {
  std::map<FiguresKind, Cells> kinds;
  std::set<std::string> seen;
  for (const ConfiguredCell& cell : cells) {
    if (cell.record->status != sweep::CellStatus::ok) continue;
    if (seen.insert(cell.record->key).second) kinds[kind_of(cell)].push_back(&cell);
  }
  return kinds;
}

/// The rows with figures; if no kind of figures and no card has one, a single row with the reason.
std::vector<ClaimRow> rows_of(const Claim& claim, const ClaimPoint& point,
                              const std::map<FiguresKind, Cells>& kinds) {
  std::vector<ClaimRow> judged, rows;
  for (const auto& [kind, of_kind] : kinds)
    for (const auto& [card, of_card] : by_card(claim, point, of_kind))
      judged.push_back(judge(claim, point, kind, card, of_card));
  std::ranges::copy_if(judged, std::back_inserter(rows),
                       [](const ClaimRow& each) { return !std::isnan(each.ours.value); });
  if (!rows.empty()) return rows;
  if (judged.empty()) judged.push_back(judge(claim, point, {}, "", {}));
  // The reason why existing cells cannot be judged tells more than missing cells of another kind.
  const auto telling = std::ranges::find(judged, false, &ClaimRow::lacks_cells);
  ClaimRow row = telling == judged.end() ? judged.front() : *telling;
  row.kind.clear();
  row.card.clear();
  return {row};
}

}  // namespace

double distance_of(const ClaimRow& row) {
  const double ours = row.ours.value;
  if (std::isnan(ours) || within(*row.point, ours)) return std::isnan(ours) ? ours : 0.0;
  const double limit = ours < row.point->low ? row.point->low : row.point->high;
  return limit == 0 ? ours : (ours - limit) / std::abs(limit);
}

void sort_by_distance(std::vector<ClaimRow>& rows) {
  std::ranges::stable_sort(rows, std::greater(), [](const ClaimRow& row) {
    const double distance = distance_of(row);
    return std::isnan(distance) ? -1 : std::abs(distance);
  });
}

std::string place_of(const ClaimRow& row) {
  const std::string& name = row.point->name;
  if (row.card.empty()) return name;
  return name + (name.empty() ? "on " : " on ") + row.card;
}

std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"reproduced", "not reproduced", "undecided", "assumed",
                                         "refuted"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::vector<ClaimRow> judge_claims(std::span<const Claim> claims,
                                   std::span<const ConfiguredCell> cells) {
  const std::map<FiguresKind, Cells> kinds = by_kind(cells);
  std::vector<ClaimRow> rows;
  for (const Claim& claim : claims) {
    for (const ClaimPoint& point : claim.points) {
      const std::vector<ClaimRow> judged = rows_of(claim, point, kinds);
      rows.insert(rows.end(), judged.begin(), judged.end());
    }
  }
  return rows;
}

Verdict overall(std::span<const ClaimRow> rows) {
  for (const Verdict decisive :
       {Verdict::refuted, Verdict::not_reproduced, Verdict::undecided, Verdict::assumed})
    if (std::ranges::find(rows, decisive, &ClaimRow::verdict) != rows.end()) return decisive;
  return Verdict::reproduced;
}

}  // namespace analysis
