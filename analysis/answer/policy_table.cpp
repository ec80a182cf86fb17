#include "analysis/answer/policy_table.hpp"

#include <algorithm>

#include "analysis/answer/sentences.hpp"

namespace analysis {
namespace {

PolicyTable make_table(const std::vector<const RateRow*>& rows, const std::string& figure,
                       std::span<const Published> published, const CellBounds& bounds) {
  PolicyTable table;
  table.place = rows.front()->place;
  table.figure = figure;
  for (const RateRow* row : rows)
    for (const PolicyCells& policy : row->policies) add_once(table.variants, policy.variant);
  for (const RateRow* row : rows) {
    const std::vector<Rated> rated = rate(*row, figure, published, table.sources, bounds);
    PolicyTableRow& own = table.rows.emplace_back(row->jps, std::vector<Rated>());
    for (const std::string& variant : table.variants) {
      const PolicyCells* policy = row->find(variant);
      own.entries.push_back(policy == nullptr
                                ? Rated{}
                                : rated[static_cast<std::size_t>(policy - &row->policies[0])]);
      if (table.unit.empty()) table.unit = own.entries.back().unit;
    }
    for (const std::string& remark : remarks_on(*row)) add_once(table.remarks, remark);
    const std::string bracket = bracket_text(table.place, row->jps, rated);
    if (!bracket.empty()) table.remarks.push_back(bracket);
  }
  return table;
}

}  // namespace

std::vector<PolicyTable> policy_tables(std::span<const RateRow> rows, const std::string& figure,
                                       std::span<const Published> published,
                                       const CellBounds& bounds) {
  std::vector<std::vector<const RateRow*>> places;
  for (const RateRow& row : rows) {
    auto own = std::ranges::find(places, row.place,
                                 [](const auto& known) { return known.front()->place; });
    if (own == places.end()) own = places.emplace(places.end());
    own->push_back(&row);
  }
  std::vector<PolicyTable> tables;
  for (const auto& own : places) tables.push_back(make_table(own, figure, published, bounds));
  return tables;
}

}  // namespace analysis
