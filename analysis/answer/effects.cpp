#include "analysis/answer/effects.hpp"

#include "analysis/answer/parts.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

std::string beside_text(const PolicyCells& policy, const Parts& parts) {
  std::string text;
  for (const auto& [name, said] : parts)
    text += (text.empty() ? "" : ", ") + std::string(name) + ' ' + value_of(cell_of(policy), name);
  return text;
}

void add_effects(std::vector<Effect>& effects, const RateRow& row, std::string_view figure) {
  std::vector<Parts> parts;
  for (const PolicyCells& policy : row.policies) parts.push_back(parts_of(cell_of(policy)));
  for (std::size_t with = 0; with < parts.size(); ++with) {
    for (std::size_t without = 0; without < parts.size(); ++without) {
      const auto names = differences(parts[without], parts[with]);
      if (names.size() != 1 || parts[without].contains(names.front())) continue;
      const PolicyCells &base = row.policies[without], &policy = row.policies[with];
      effects.push_back({row.place, row.jps, std::string(names.front()),
                         value_of(cell_of(policy), names.front()),
                         beside_text(base, parts[without]), base.variant, policy.variant,
                         ratio_of(by_seed(policy.repeats, figure), by_seed(base.repeats, figure))});
    }
  }
}

}  // namespace

std::vector<Effect> effects_of(std::span<const RateRow> rows, std::string_view figure) {
  std::vector<Effect> effects;
  for (const RateRow& row : rows) add_effects(effects, row, figure);
  return effects;
}

Grid to_grid(std::span<const Effect> effects, GridFormat format) {
  Grid grid;
  for (const char* name :
       {"kind", "gpu", "settings", "jps", "part", "value", "beside", "with", "without"})
    grid.columns.push_back({name, "", false});
  for (const char* name : {"ratio", "low95", "high95", "repeats"})
    grid.columns.push_back({name, ""});
  for (const Effect& each : effects) {
    Texts texts = {each.place.kind, each.place.gpu, each.place.settings, each.jps,    each.part,
                   each.value,      each.beside,    each.with,           each.without};
    for (const double number :
         {each.ratio.value, each.ratio.interval.low, each.ratio.interval.high})
      texts.push_back(format == GridFormat::csv ? exact_number(number) : four_digits(number));
    texts.push_back(std::to_string(each.ratio.repeats));
    grid.rows.push_back(std::move(texts));
  }
  return grid;
}

}  // namespace analysis
