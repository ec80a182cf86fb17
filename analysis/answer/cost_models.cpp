#include <algorithm>
#include <array>
#include <map>

#include "analysis/answer/presets.hpp"
#include "analysis/answer/sentences.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

/// The errors that were measured, all with Llama-3.1-8B: docs/cost-models.md#errors.
struct KnownError {
  const char *model, *error;
};
constexpr std::array kKnownErrors = {
    KnownError{"measured",
               "fitted to steps of this engine: mean JCT within 9 % in 59 cells on H100s (lmcache "
               "within 14 %), and within 12 % in 96 of 98 cells on an H200"},
    KnownError{"kernels",
               "GPU kernels without host time: mean JCT 12 to 25 % below this engine's in 21 cells "
               "on an H100"},
    KnownError{"published",
               "fitted to another engine: mean JCT 17 to 46 % above this engine's in 21 cells on "
               "an H100"}};

/// Whether the errors were measured with the model and a card of this cell.
bool is_measured(const ConfiguredCell& cell) {
  const std::string gpu = shown(cell.value("gpu"));
  return shown(cell.value("model")) == "llama-3.1-8b" &&
         (gpu.starts_with("h100") || gpu.starts_with("h200"));
}

bool is_of_older_kernels(const ConfiguredCell& cell) {
  return std::ranges::any_of(cell.record->notes, [](const sweep::Note& note) {
    return note.name == "cost_model_fit" && !note.text.empty();
  });
}

}  // namespace

Texts cost_model_errors(std::span<const RateRow> rows) {
  std::map<std::string, Texts> older, elsewhere;  // cards, by cost model
  Texts servers;
  for (const RateRow& row : rows) {
    for (const PolicyCells& policy : row.policies) {
      const ConfiguredCell& cell = *policy.repeats.front();
      if (cell.record->backend != "sim") continue;
      if (const auto server = cell.value("sim.server"); server && *server != sweep::Value("none")) {
        add_once(servers, shown(server));
        continue;
      }
      const std::string model = shown(cell.value("sim.cost_model"));
      Texts& cards = older[model];
      if (is_of_older_kernels(cell)) add_once(cards, row.place.gpu);
      if (!is_measured(cell))
        add_once(elsewhere[model], shown(cell.value("model")) + " on " + row.place.gpu);
    }
  }
  Texts lines;
  for (const KnownError& known : kKnownErrors) {
    const auto found = older.find(known.model);
    if (found == older.end()) continue;
    lines.push_back("cost model " + std::string(known.model) + ", " + known.error +
                    " (llama-3.1-8b)");
    if (const Texts& others = elsewhere[known.model]; !others.empty())
      lines.back() += "; not measured for " + listed(others);
    if (!found->second.empty())
      lines.back() += "; the constants of " + listed(found->second) +
                      " were fitted with older kernels than this program's";
  }
  if (!servers.empty())
    lines.push_back("cost model measured, fitted to steps of " + listed(servers) +
                    " itself: docs/studies/vllm-h200.md has its errors");
  return lines;
}

}  // namespace analysis
