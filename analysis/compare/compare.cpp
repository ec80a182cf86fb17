#include "analysis/compare/compare.hpp"

#include <algorithm>
#include <iterator>

#include "analysis/compare/published.hpp"
#include "analysis/text/list.hpp"

namespace analysis {
namespace {

/// The values of `a` with seeds that `b` has, too.
BySeed common(BySeed a, const BySeed& b) {
  std::erase_if(a, [&](const auto& entry) { return !b.contains(entry.first); });
  return a;
}

Comparison compare_groups(const RepeatGroup& base, const RepeatGroup& other,
                          const CompareQuestion& question, const std::string& over) {
  require_comparable(*base.repeats.front(), *other.repeats.front(), question.by);
  const BySeed bases = by_seed(base.repeats, question.metric),
               values = by_seed(other.repeats, question.metric);
  const Ratio ratio = ratio_of(values, bases);
  return {other.at, mean_of(ratio.paired ? common(bases, values) : bases).value,
          mean_of(ratio.paired ? common(values, bases) : values).value, ratio, over};
}

/// The base that agrees in every key that counts; null: none. A key that the base lacks matches any
/// value.
const RepeatGroup* partner_of(const RepeatGroup& other, std::span<const RepeatGroup> bases,
                              const std::vector<bool>& counts) {
  for (const RepeatGroup& base : bases) {
    bool agrees = true;
    for (std::size_t i = 0; i < counts.size(); ++i)
      agrees = agrees && !(counts[i] && base.at[i] && base.texts[i] != other.texts[i]);
    if (agrees) return &base;
  }
  return nullptr;
}

ComparisonReport empty_report(std::span<const ConfiguredCell> cells,
                              const CompareQuestion& question) {
  ComparisonReport report{question.metric, "", question.by, {}, 0, 0};
  for (const ConfiguredCell& cell : cells) {
    if (cell.record->status != sweep::CellStatus::ok) ++report.without_result;
    const sweep::Figure* figure = sweep::find_named(cell.record->figures, question.metric);
    if (figure != nullptr) report.unit = figure->unit;
  }
  return report;
}

void require_keys(std::span<const ConfiguredCell> cells, const std::vector<std::string>& by) {
  if (by.empty()) throw CompareError("there is no key to compare by; name one with --by");
  for (const std::string& key : by) {
    if (std::ranges::any_of(cells, [&](const auto& cell) { return cell.value(key).has_value(); }))
      continue;
    std::vector<std::string> known;
    for (const ConfiguredCell& cell : cells)
      for (const auto& [name, value] : cell.config) known.push_back(name);
    throw CompareError("no cell has the key \"" + key + "\" of --by" +
                       sweep::suggestion(key, known));
  }
}

/// The divisor of the others: a value of the compared key, or a label that tables print for a
/// policy.
class BaseLabel {
 public:
  BaseLabel(std::span<const RepeatGroup> groups, const CompareQuestion& question)
      : text_(shown(value_of(groups, question))), plain_(key_text(value_of(groups, question))) {
    if (std::ranges::none_of(groups, [&](const auto& each) { return each.texts[0] == plain_; }))
      meant_ = read_label(question.by.front(), text_);
  }

  const std::string& text() const { return text_; }
  bool sets(const std::string& key) const {
    return std::ranges::find(meant_, key, &std::pair<std::string, sweep::Value>::first) !=
           meant_.end();
  }
  bool is_of(const RepeatGroup& group) const {
    if (meant_.empty()) return group.texts[0] == plain_;
    return std::ranges::all_of(meant_, [&](const auto& part) {
      const auto found = group.repeats.front()->written(part.first);
      return found && sweep::same_value(*found, part.second);
    });
  }

 private:
  /// By default the first value, or nothing where no cell has one.
  static std::optional<sweep::Value> value_of(std::span<const RepeatGroup> groups,
                                              const CompareQuestion& question) {
    if (question.base) return question.base;
    const auto has_value = [](const RepeatGroup& each) { return each.at[0].has_value(); };
    const auto first = std::ranges::find_if(groups, has_value);
    return (first == groups.end() ? groups.front() : *first).at[0];
  }

  std::string text_, plain_;
  sweep::Alternative meant_;
};

[[noreturn]] void fail_unknown_base(std::span<const RepeatGroup> groups,
                                    const CompareQuestion& question) {
  std::vector<std::string> known;
  for (const RepeatGroup& group : groups) add_once(known, shown(group.at[0]));
  const std::string found = shown(question.base);
  throw CompareError("no cell with a result has " + question.by.front() + '=' + found +
                     sweep::suggestion(found, known) + "; there are " + sweep::joined(known));
}

void require_rows(const ComparisonReport& report, const std::string& why) {
  if (report.rows.empty()) throw CompareError("there is nothing to compare: " + why);
}

}  // namespace

ComparisonReport compare_within(std::span<const ConfiguredCell> cells,
                                const CompareQuestion& question) {
  require_keys(cells, question.by);
  const std::string& compared = question.by.front();
  const std::vector<RepeatGroup> groups = groups_by(cells, question.by);
  ComparisonReport report = empty_report(cells, question);
  if (groups.empty()) require_rows(report, "no cell has a result");
  const BaseLabel label(groups, question);
  std::vector<RepeatGroup> bases;
  std::ranges::copy_if(groups, std::back_inserter(bases),
                       [&](const RepeatGroup& group) { return label.is_of(group); });
  if (bases.empty()) fail_unknown_base(groups, question);
  std::vector<bool> counts;
  for (const std::string& key : question.by) counts.push_back(key != compared && !label.sets(key));
  for (const RepeatGroup& group : groups) {
    if (label.is_of(group)) continue;
    if (const RepeatGroup* base = partner_of(group, bases, counts))
      report.rows.push_back(compare_groups(*base, group, question, label.text()));
    else
      ++report.without_partner;
  }
  require_rows(report, "no two cells differ in " + compared + " and agree in the rest");
  return report;
}

std::vector<std::string> axes_to_compare(std::span<const ConfiguredCell> cells) {
  std::vector<std::string> axes;
  for (const ConfiguredCell& cell : cells)
    for (const auto& [name, value] : cell.record->axes) add_once(axes, name);
  std::ranges::stable_partition(axes, [](const std::string& name) { return name == "policy"; });
  return axes;
}

Grid to_grid(const ComparisonReport& report, GridFormat format) {
  Grid grid;
  for (const std::string& key : report.by) grid.columns.push_back({key, "", false});
  grid.columns.push_back({"over", "", false});
  grid.columns.push_back({"base", report.unit});
  grid.columns.push_back({"value", report.unit});
  for (const char* name : {"ratio", "low95", "high95", "repeats"})
    grid.columns.push_back({name, ""});
  const auto number = [&](double value) {
    return format == GridFormat::csv ? exact_number(value) : four_digits(value);
  };
  for (const Comparison& row : report.rows) {
    std::vector<std::string> texts = mapped(row.at, shown);
    texts.push_back(row.over);
    for (const double each :
         {row.base, row.value, row.ratio.value, row.ratio.interval.low, row.ratio.interval.high})
      texts.push_back(number(each));
    texts.push_back(std::to_string(row.ratio.repeats));
    grid.rows.push_back(std::move(texts));
  }
  return grid;
}

}  // namespace analysis
