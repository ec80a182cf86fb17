#include "analysis/compare/compare.hpp"

#include <iterator>

#include "analysis/compare/published.hpp"
#include "analysis/text/list.hpp"
#include "sweeps/definition/canonical_json.hpp"

namespace analysis {
namespace {

constexpr const char* kSeed = "repeat.seed";

/// Keys that must be equal in every comparison: figures of different backends, or of emulated and
/// real cards, are of different kinds.
bool never_compared(const std::string& key) { return key == "backend" || key == "engine.emulate"; }

bool follows(const std::string& key, const std::string& named) {
  if (key == named || key.starts_with(named + '.')) return true;
  // A server's profile takes the place of a policy.
  if (named == "policy")
    return key == "server.command" || key.starts_with("server.env.") ||
           key.starts_with("server.request.");
  if (named == "model" && key == "engine.dtype") return true;
  if (named == "gpu" || named == "model" || named == "engine.kv_dtype")
    return key == "sim.cost_model" || key == "sim.constants" || key == "engine.kv_tokens";
  if (named == "sim.cost_model") return key == "sim.constants";
  if (named == "engine.max_model_len") return key == "workload.max_context";
  return false;
}

/// Whether the difference is only that a policy without a host tier has no key of the tier.
bool is_missing_tier(const ConfigDifference& difference, const ConfiguredCell& a,
                     const ConfiguredCell& b) {
  if (difference.a.has_value() == difference.b.has_value()) return false;
  if (difference.key == "dram_gib") return true;
  const bool is_simulated = difference.key == "sim.tier_scale" || difference.key == "sim.link" ||
                            difference.key == "sim.block_copy_us";
  const Config& without = difference.a ? b.config : a.config;
  return is_simulated && !without.contains("policy.host_memory");
}

bool may_differ(const ConfigDifference& difference, const ConfiguredCell& a,
                const ConfiguredCell& b, const std::vector<std::string>& named) {
  if (difference.key == kSeed) return true;
  return std::ranges::any_of(named, [&](const std::string& key) {
    // The engine's results may have changed under one policy and not under the other.
    const bool of_policy = key.starts_with("policy") && difference.key == "engine_abi";
    return follows(difference.key, key) || (of_policy && a.value(key) != b.value(key)) ||
           (key == "policy" && is_missing_tier(difference, a, b));
  });
}

/// Whether a key of the configuration is written by the program and not by the sweep.
bool is_derived(const std::string& key) {
  return key == "sim.constants" || key == "engine_abi" || key == "schema" ||
         key.ends_with(".sha256");
}

/// How well a difference says what was set: least for axes of the sweep, most for what follows.
int distance_from_sweep(const ConfigDifference& difference,
                        const std::vector<ConfigDifference>& all, const ConfiguredCell& a,
                        const ConfiguredCell& b) {
  const std::string& key = difference.key;
  if (never_compared(key)) return 0;
  if (is_derived(key)) return 4;
  if (std::ranges::any_of(
          all, [&](const auto& each) { return each.key != key && follows(key, each.key); }))
    return 3;
  return sweep::value_on(a.record->axes, key) != nullptr ||
                 sweep::value_on(b.record->axes, key) != nullptr
             ? 1
             : 2;
}

std::string name_of(const ConfiguredCell& cell) {
  return std::to_string(cell.record->index) + " (" + cell.record->label + ')';
}

[[noreturn]] void refuse(const ConfiguredCell& a, const ConfiguredCell& b,
                         const ConfigDifference& difference) {
  const std::string advice =
      never_compared(difference.key)
          ? "results of different backends and emulations are never compared"
      : is_derived(difference.key)
          ? "the program or a file of one of them has changed since: run it again, or choose cells "
            "with --only"
          : "name it in --by, or choose cells with --only";
  throw CompareError("cells " + name_of(a) + " and " + name_of(b) + " differ in " + difference.key +
                     ": " + shown(difference.a) + " and " + shown(difference.b) + "; " + advice);
}

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

std::optional<ConfigDifference> first_incomparable(const ConfiguredCell& a, const ConfiguredCell& b,
                                                   const std::vector<std::string>& named) {
  std::vector<ConfigDifference> all = config_differences(a.config, b.config);
  std::erase_if(all, [&](const ConfigDifference& each) {
    return !never_compared(each.key) && may_differ(each, a, b, named);
  });
  const auto told = std::ranges::min_element(
      all, {}, [&](const ConfigDifference& each) { return distance_from_sweep(each, all, a, b); });
  return told == all.end() ? std::nullopt : std::optional(*told);
}

void require_comparable(const ConfiguredCell& a, const ConfiguredCell& b,
                        const std::vector<std::string>& named) {
  if (const auto difference = first_incomparable(a, b, named)) refuse(a, b, *difference);
}

std::string key_text(const std::optional<sweep::Value>& value) {
  if (!value) return "";
  return sweep::canonical_json(std::map<std::string, sweep::Value>{{"", *value}});
}

std::vector<RepeatGroup> groups_by(std::span<const ConfiguredCell> cells,
                                   const std::vector<std::string>& keys) {
  std::vector<RepeatGroup> groups;
  std::map<std::string, std::size_t> position;
  for (const ConfiguredCell& cell : cells) {
    if (cell.record->status != sweep::CellStatus::ok) continue;
    RepeatGroup found;
    std::string text;
    for (const std::string& key : keys) {
      found.at.push_back(cell.value(key));
      found.texts.push_back(key_text(found.at.back()));
      text += found.texts.back() + '\n';
    }
    const auto [place, is_new] = position.emplace(text, groups.size());
    if (is_new) groups.push_back(std::move(found));
    RepeatGroup& group = groups[place->second];
    if (!group.repeats.empty()) require_comparable(*group.repeats.front(), cell, {});
    group.repeats.push_back(&cell);
  }
  return groups;
}

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
