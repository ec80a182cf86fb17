#include "analysis/ranking/overridden.hpp"

#include <array>
#include <utility>

#include "analysis/ranking/sentences.hpp"

namespace analysis {
namespace {

std::string note_of(const ConfiguredCell& cell, std::string_view name) {
  const sweep::Note* note = sweep::find_named(cell.record->notes, name);
  return note == nullptr ? "" : note->text;
}

/// Adds the keys that scale a cost model or replace a part of it.
void add_cost_model(std::vector<std::string>& lines, const ConfiguredCell& cell) {
  static const std::array<std::pair<const char*, sweep::Value>, 5> kAsItIs = {
      {{"sim.fixed_scale", 1.0},
       {"sim.token_scale", 1.0},
       {"sim.tier_scale", 1.0},
       {"sim.block_copy_us", 0.0},
       {"sim.link", std::string("card")}}};
  const std::string model = note_of(cell, "cost_model");
  for (const auto& [key, usual] : kAsItIs) {
    const auto value = cell.value(key);
    const bool is_axis = sweep::value_on(cell.record->axes, key) != nullptr;
    if (!value || is_axis || sweep::same_value(*value, usual) ||
        number_of(value) == number_of(usual))
      continue;
    add_once(lines, (model.empty() ? "sim" : "the cost model " + model) + " runs with " + key +
                        '=' + shown(value) + " (scaled or replaced by the sweep)");
  }
}

}  // namespace

std::vector<std::string> overridden_presets(std::span<const RateRow> rows) {
  std::vector<std::string> lines;
  for (const RateRow& row : rows) {
    for (const PolicyCells& policy : row.policies) {
      const ConfiguredCell& cell = *policy.repeats.front();
      const std::string pool = note_of(cell, "pool");
      if (!pool.empty() && sweep::value_on(cell.record->axes, "engine.kv_tokens") == nullptr)
        add_once(lines,
                 row.place.gpu + " runs with " + pool + " (the pool of the card is another)");
      if (note_of(cell, "cost_model").ends_with("(estimated)"))
        add_once(lines, row.place.gpu +
                            " runs with estimated kernels (scaled from another card or model, "
                            "nothing was measured on this one)");
      if (!note_of(cell, "cost_model_fit").empty())
        add_once(lines, row.place.gpu +
                            " runs with cost-model constants of older kernels (fitted to other "
                            "kernels than this program's)");
      add_cost_model(lines, cell);
    }
  }
  return lines;
}

}  // namespace analysis
