#include "analysis/compare/policy_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/compare/groups.hpp"
#include "analysis/compare/kind.hpp"

namespace analysis {
namespace {

/// The keys that define tables, rows and columns; further axes split tables.
const std::vector<std::string> kKeys = {"backend", "engine.emulate", "gpu",
                                        "jps",     "policy",         "dram_gib"};
constexpr std::size_t kJps = 3, kDram = 5, kFirstFurther = 6;

/// "engine.block_size=32, engine.emulate=a100-40gb": the further settings of a table's cells.
std::string settings_of(const RepeatGroup& group, const std::vector<std::string>& keys) {
  std::string text;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if ((i > 1 && i < kFirstFurther) || !group.at[i]) continue;
    text += (text.empty() ? "" : ", ") + keys[i] + '=' + shown(group.at[i]);
  }
  return text;
}

std::string unit_of(const ConfiguredCell& cell, const std::string& metric) {
  const auto found = std::ranges::find(cell.record->figures, metric, &sweep::Figure::name);
  return found == cell.record->figures.end() ? "" : found->unit;
}

PolicyEntry entry_of(const RepeatGroup& group, const std::string& metric) {
  PolicyEntry entry;
  entry.variant = variant_of(*group.repeats.front());
  entry.dram = shown(group.at[kDram]);
  entry.repeats = group.repeats;
  entry.values = by_seed(group.repeats, metric);
  entry.mean = mean_of(entry.values);
  return entry;
}

std::vector<Contender> contenders_of(const PolicyRow& row) {
  std::vector<Contender> contenders;
  for (const PolicyEntry& entry : row.entries)
    contenders.push_back({entry.variant, entry.dram, entry.values});
  return contenders;
}

/// Collects the groups of one table.
class TableBuilder {
 public:
  TableBuilder(const RepeatGroup& first, const std::vector<std::string>& keys,
               const std::string& metric) {
    table_.gpu = shown(first.repeats.front()->value("gpu"));
    table_.backend = shown(first.at[0]);
    table_.kind = figures_kind(*first.repeats.front());
    table_.settings = settings_of(first, keys);
    table_.metric = metric;
    table_.unit = unit_of(*first.repeats.front(), metric);
  }

  void add(const RepeatGroup& group, std::span<const Published> published) {
    PolicyEntry entry = entry_of(group, table_.metric);
    for (const Published& each : published) {
      const double value = each.value(*group.repeats.front(), table_.metric);
      if (std::isnan(value)) continue;
      entry.published = value;
      if (std::ranges::find(table_.sources, each.source) == table_.sources.end())
        table_.sources.push_back(each.source);
    }
    if (std::ranges::find(table_.variants, entry.variant) == table_.variants.end())
      table_.variants.push_back(entry.variant);
    const std::string jps = shown(group.at[kJps]);
    auto row = std::ranges::find(table_.rows, jps, &PolicyRow::jps);
    if (row == table_.rows.end()) {
      row = table_.rows.insert(table_.rows.end(), {jps, {}});
      first_of_row_.push_back(group.repeats.front());
    } else {
      remark(*first_of_row_[static_cast<std::size_t>(row - table_.rows.begin())],
             *group.repeats.front());
    }
    row->entries.push_back(std::move(entry));
  }

  PolicyTable finish() {
    for (PolicyRow& row : table_.rows) {
      complete(row);
      rate(row);
    }
    return std::move(table_);
  }

 private:
  void remark(const ConfiguredCell& first, const ConfiguredCell& other) {
    const auto found = first_incomparable(first, other, {"policy", "dram_gib"});
    if (!found) return;
    const std::string text = "columns differ in more than the policy: " + found->key + " is " +
                             shown(found->a) + " for " + variant_of(first) + " and " +
                             shown(found->b) + " for " + variant_of(other);
    if (std::ranges::find(table_.remarks, text) == table_.remarks.end())
      table_.remarks.push_back(text);
  }

  /// Every row gets an entry per variant, in their order.
  void complete(PolicyRow& row) const {
    std::vector<PolicyEntry> entries;
    for (const std::string& variant : table_.variants) {
      const auto found = std::ranges::find(row.entries, variant, &PolicyEntry::variant);
      entries.push_back(found == row.entries.end() ? PolicyEntry() : *found);
      entries.back().variant = variant;
    }
    row.entries = std::move(entries);
  }

  void rate(PolicyRow& row) const {
    for (const Decision& decision : decide(contenders_of(row), direction_of(table_.metric)))
      for (std::size_t i = 0; i < row.entries.size(); ++i)
        row.entries[i].standing = better(row.entries[i].standing, decision.standings[i]);
    const auto fcfs = std::ranges::find(row.entries, "fcfs", &PolicyEntry::variant);
    if (fcfs == row.entries.end()) return;
    for (PolicyEntry& entry : row.entries) entry.ratio = ratio_of(entry.values, fcfs->values);
  }

  PolicyTable table_;
  std::vector<const ConfiguredCell*> first_of_row_;
};

/// Identifies the table of a group, as a text.
std::string table_key(const RepeatGroup& group) {
  std::string text;
  for (std::size_t i = 0; i < group.texts.size(); ++i) {
    if (i < kJps || i >= kFirstFurther) text += group.texts[i] + '\n';
  }
  return text;
}

}  // namespace

std::vector<PolicyTable> policy_tables(std::span<const ConfiguredCell> cells,
                                       const std::string& metric,
                                       std::span<const Published> published) {
  const std::vector<std::string> keys = with_axes(kKeys, cells);
  std::vector<TableBuilder> builders;
  std::map<std::string, std::size_t> position;
  for (const RepeatGroup& group : groups_by(cells, keys)) {
    const auto [place, is_new] = position.emplace(table_key(group), builders.size());
    if (is_new) builders.emplace_back(group, keys, metric);
    builders[place->second].add(group, published);
  }
  std::vector<PolicyTable> tables;
  for (TableBuilder& builder : builders) tables.push_back(builder.finish());
  return tables;
}

std::vector<Regime> regimes_of(std::span<const PolicyTable> tables) {
  std::vector<Regime> regimes;
  for (const PolicyTable& table : tables) {
    for (const PolicyRow& row : table.rows)
      std::ranges::move(regimes_of({table.kind, table.gpu, table.settings}, row.jps,
                                   contenders_of(row), direction_of(table.metric)),
                        std::back_inserter(regimes));
  }
  return regimes;
}

std::vector<PolicyCells> policy_cells(std::span<const PolicyTable> tables) {
  std::vector<PolicyCells> policies;
  for (const PolicyTable& table : tables)
    for (const PolicyRow& row : table.rows)
      for (const PolicyEntry& entry : row.entries)
        if (!entry.repeats.empty())
          policies.push_back(
              {{table.kind, table.gpu, table.settings}, row.jps, entry.variant, entry.repeats});
  return policies;
}

}  // namespace analysis
