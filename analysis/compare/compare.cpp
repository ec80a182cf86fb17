#include "analysis/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "analysis/compare/groups.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

constexpr double kUndefined = sweep::kNotObserved;

struct Samples {
  std::vector<double> base, value;
  bool paired = true;
};

std::map<std::int64_t, double> by_seed(const RepeatGroup& group, const std::string& metric) {
  std::map<std::int64_t, double> values;
  for (const ConfiguredCell* cell : group.repeats) {
    const double value = cell->figure(metric);
    if (!std::isnan(value)) values[cell->record->seed] = value;
  }
  return values;
}

/// Repeats with equal seeds are pairs, since their jobs arrive at the same times. Without a common
/// seed all repeats count.
Samples samples_of(const RepeatGroup& base, const RepeatGroup& other, const std::string& metric) {
  const auto a = by_seed(base, metric), b = by_seed(other, metric);
  Samples samples;
  for (const auto& [seed, value] : a) {
    if (!b.contains(seed)) continue;
    samples.base.push_back(value);
    samples.value.push_back(b.at(seed));
  }
  if (!samples.base.empty()) return samples;
  samples.paired = false;
  for (const auto& [seed, value] : a) samples.base.push_back(value);
  for (const auto& [seed, value] : b) samples.value.push_back(value);
  return samples;
}

Comparison compare_groups(const RepeatGroup& base, const RepeatGroup& other,
                          const CompareQuestion& question) {
  require_comparable(*base.repeats.front(), *other.repeats.front(), question.by);
  const Samples samples = samples_of(base, other, question.metric);
  Comparison row;
  row.at = other.at;
  row.base = mean(samples.base);
  row.value = mean(samples.value);
  row.ratio = row.base == 0 ? kUndefined : row.value / row.base;
  row.interval = bootstrap_ratio_interval(samples.base, samples.value, samples.paired);
  row.repeats = std::min(samples.base.size(), samples.value.size());
  return row;
}

/// Whether both groups agree in every key that counts. A key that the base lacks matches any value.
bool is_partner(const RepeatGroup& base, const RepeatGroup& other,
                const std::vector<bool>& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] && base.at[i] && base.texts[i] != other.texts[i]) return false;
  }
  return true;
}

const RepeatGroup* partner_of(const RepeatGroup& other, std::span<const RepeatGroup> bases,
                              const std::vector<bool>& counts) {
  const auto found = std::ranges::find_if(
      bases, [&](const RepeatGroup& base) { return is_partner(base, other, counts); });
  return found == bases.end() ? nullptr : &*found;
}

ComparisonReport empty_report(std::span<const ConfiguredCell> cells,
                              const CompareQuestion& question) {
  ComparisonReport report{question.metric, "", question.by, {}, 0, 0};
  for (const ConfiguredCell& cell : cells) {
    if (cell.record->status != sweep::CellStatus::ok) ++report.without_result;
    const auto figure =
        std::ranges::find(cell.record->figures, question.metric, &sweep::Figure::name);
    if (figure != cell.record->figures.end()) report.unit = figure->unit;
  }
  return report;
}

std::set<std::string> values_of(std::span<const RepeatGroup> groups, std::size_t key) {
  std::set<std::string> values;
  for (const RepeatGroup& group : groups) values.insert(group.texts[key]);
  return values;
}

void require_keys(std::span<const ConfiguredCell> cells, const std::vector<std::string>& by) {
  if (by.empty()) throw CompareError("there is no key to compare by; name one with --by");
  for (const std::string& key : by) {
    if (std::ranges::any_of(cells, [&](const auto& cell) { return cell.value(key).has_value(); }))
      continue;
    std::vector<std::string> known;
    for (const ConfiguredCell& cell : cells) {
      for (const auto& [name, value] : cell.config) known.push_back(name);
    }
    const std::string near = sweep::did_you_mean(key, known);
    throw CompareError("no cell has the key \"" + key + "\" of --by" +
                       (near.empty() ? "" : " (did you mean \"" + near + "\"?)"));
  }
}

void require_rows(const ComparisonReport& report, const std::string& why) {
  if (report.rows.empty()) throw CompareError("there is nothing to compare: " + why);
}

double random_mean(std::span<const double> values, const std::vector<std::size_t>& chosen) {
  double sum = 0;
  for (const std::size_t i : chosen) sum += values[i];
  return sum / static_cast<double>(chosen.size());
}

}  // namespace

Interval bootstrap_ratio_interval(std::span<const double> base, std::span<const double> value,
                                  bool paired, const BootstrapConfig& config) {
  if (base.size() < 2 || value.size() < 2) return {kUndefined, kUndefined};
  std::mt19937_64 random(config.seed);
  const auto draw = [&](std::size_t n) {
    std::vector<std::size_t> chosen(n);
    for (std::size_t& each : chosen) each = random() % n;
    return chosen;
  };
  std::vector<double> ratios;
  for (int i = 0; i < config.resamples; ++i) {
    const std::vector<std::size_t> of_base = draw(base.size());
    const double divisor = random_mean(base, of_base);
    const double mean = random_mean(value, paired ? of_base : draw(value.size()));
    ratios.push_back(mean / divisor);
  }
  const double tail = 50 * (1 - config.confidence);
  return {percentile(ratios, tail), percentile(ratios, 100 - tail)};
}

ComparisonReport compare_within(std::span<const ConfiguredCell> cells,
                                const CompareQuestion& question) {
  require_keys(cells, question.by);
  const std::string& compared = question.by.front();
  const std::vector<RepeatGroup> groups = groups_by(cells, question.by);
  ComparisonReport report = empty_report(cells, question);
  if (groups.empty()) require_rows(report, "no cell has a result");
  const std::string base_text = question.base ? key_text(question.base) : groups.front().texts[0];
  std::vector<RepeatGroup> bases;
  for (const RepeatGroup& group : groups) {
    if (group.texts[0] == base_text) bases.push_back(group);
  }
  if (bases.empty()) {
    throw CompareError("no cell with a result has " + compared + '=' + shown(question.base));
  }
  std::vector<bool> counts(question.by.size(), true);
  counts[0] = false;
  for (const RepeatGroup& group : groups) {
    if (group.texts[0] == base_text) continue;
    const RepeatGroup* base = partner_of(group, bases, counts);
    if (base == nullptr) {
      ++report.without_partner;
      continue;
    }
    report.rows.push_back(compare_groups(*base, group, question));
    report.rows.back().over = shown(base->at[0]);
  }
  require_rows(report, "no two cells differ in " + compared + " and agree in the rest");
  return report;
}

ComparisonReport compare_archives(std::span<const ConfiguredCell> a,
                                  std::span<const ConfiguredCell> b,
                                  const CompareQuestion& question) {
  require_keys(a, question.by);
  require_keys(b, question.by);
  const auto bases = groups_by(a, question.by), others = groups_by(b, question.by);
  std::vector<bool> counts;
  for (std::size_t key = 0; key < question.by.size(); ++key) {
    const std::set<std::string> in_a = values_of(bases, key), in_b = values_of(others, key);
    counts.push_back(
        std::ranges::any_of(in_a, [&](const std::string& value) { return in_b.contains(value); }));
  }
  ComparisonReport report = empty_report(b, question);
  for (const RepeatGroup& other : others) {
    const RepeatGroup* base = partner_of(other, bases, counts);
    if (base == nullptr) {
      ++report.without_partner;
      continue;
    }
    report.rows.push_back(compare_groups(*base, other, question));
    report.rows.back().over = "first archive";
  }
  require_rows(report, "no cell of the second archive has a counterpart in the first");
  return report;
}

std::vector<std::string> axes_to_compare(std::span<const ConfiguredCell> cells) {
  std::vector<std::string> axes;
  for (const ConfiguredCell& cell : cells) {
    for (const auto& [name, value] : cell.record->axes) {
      if (std::ranges::find(axes, name) == axes.end()) axes.push_back(name);
    }
  }
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
  for (const Comparison& row : report.rows) {
    std::vector<std::string> texts;
    for (const auto& value : row.at) texts.push_back(shown(value));
    texts.push_back(row.over);
    for (const double each : {row.base, row.value, row.ratio, row.interval.low, row.interval.high})
      texts.push_back(format == GridFormat::csv ? exact_number(each) : four_digits(each));
    texts.push_back(std::to_string(row.repeats));
    grid.rows.push_back(std::move(texts));
  }
  return grid;
}

}  // namespace analysis
