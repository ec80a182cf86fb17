#include <algorithm>
#include <array>
#include <map>

#include "analysis/answer/presets.hpp"
#include "analysis/answer/sentences.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

/// What is known of the error of a cost model: docs/cost-models.md#errors.
struct KnownError {
  const char *model, *error;
};
constexpr std::array kKnownErrors = {
    KnownError{"measured",
               "fitted to steps of this engine: mean JCT was within 9 % of 59 cells on H100s (of "
               "lmcache's within 14 %), and within 12 % of 98 on an H200 but for two"},
    KnownError{"kernels",
               "GPU kernels without host time: mean JCT was 12 to 25 % too short in 21 cells on an "
               "H100"},
    KnownError{"published",
               "steps of another engine: mean JCT was 17 to 46 % too long for this one in 21 cells "
               "on an H100"}};

bool is_of_older_kernels(const ConfiguredCell& cell) {
  return std::ranges::any_of(cell.record->notes, [](const sweep::Note& note) {
    return note.name == "cost_model_fit" && !note.text.empty();
  });
}

}  // namespace

Texts cost_model_errors(std::span<const RateRow> rows) {
  std::map<std::string, Texts> older;  // cards, by cost model
  Texts servers;
  for (const RateRow& row : rows) {
    for (const PolicyCells& policy : row.policies) {
      const ConfiguredCell& cell = *policy.repeats.front();
      if (cell.record->backend != "sim") continue;
      const std::string server = shown(cell.value("sim.server"));
      if (!server.empty() && server != "-") {
        add_once(servers, server);
        continue;
      }
      Texts& cards = older[shown(cell.value("sim.cost_model"))];
      if (is_of_older_kernels(cell)) add_once(cards, row.place.gpu);
    }
  }
  Texts lines;
  for (const KnownError& known : kKnownErrors) {
    const auto found = older.find(known.model);
    if (found == older.end()) continue;
    lines.push_back("modelled by " + std::string(known.model) + ", " + known.error);
    if (!found->second.empty())
      lines.back() += "; the constants of " + listed(found->second) +
                      " were fitted with older kernels than this program's";
  }
  if (!servers.empty())
    lines.push_back("modelled by measured, fitted to steps of " + listed(servers) +
                    " itself: docs/studies/vllm-h200.md has its errors");
  return lines;
}

}  // namespace analysis
