#include "analysis/claims/cost_models.hpp"

#include <algorithm>

#include "analysis/claims/sensitivity.hpp"
#include "analysis/compare/published.hpp"

namespace analysis {
namespace {

constexpr std::string_view kKind = "MODELLED (sim, ";

/// "published" of "MODELLED (sim, published)"; empty for figures of other kinds.
std::string model_of(const ClaimRow& row) {
  if (!row.kind.starts_with(kKind)) return "";
  return row.kind.substr(kKind.size(), row.kind.find_first_of(",)", kKind.size()) - kKind.size());
}

bool is_decided(const ClaimRow& row) {
  return row.verdict == Verdict::reproduced || row.verdict == Verdict::not_reproduced;
}

/// The same number under another cost model; null if it lacks cells, or repeats.
const ClaimRow* under(const std::string& model, const ClaimRow& row, const ClaimReport& report) {
  for (const ClaimRow& each : report.rows)
    if (each.point == row.point && each.card == row.card && model_of(each) == model &&
        each.ours.repeats >= each.claim->repeats)
      return &each;
  return nullptr;
}

/// What is known of all rows.
class Tally {
 public:
  explicit Tally(const ClaimReport& report) : report_(report) {}

  void add(const ClaimRow& row, const std::set<std::string>& models) {
    bool is_complete = true, is_alike = true;
    for (const std::string& model : models) {
      if (model == model_of(row)) continue;
      const ClaimRow* other = under(model, row, report_);
      is_complete = is_complete && other != nullptr;
      is_alike = is_alike && (other == nullptr || other->verdict == row.verdict);
      if (other == nullptr && !row.claim->experiment.empty())
        missing_[{row.claim->experiment, model}].add(row);
    }
    ++decided_;
    (!is_alike ? otherwise_ : is_complete ? alike_ : lacking_)++;
  }

  std::vector<std::string> lines() const {
    if (decided_ == 0) return {};
    std::vector<std::string> lines = {
        "cost models: of " + std::to_string(decided_) + " decided numbers on sim " +
        std::to_string(alike_) + " have the same verdict under every cost model of their card, " +
        std::to_string(otherwise_) + " have another under some"};
    if (missing_.empty()) return lines;
    lines.back() += "; " + std::to_string(lacking_) + " lack cells. These commands run them:";
    for (const auto& [what, cells] : missing_) {
      const auto& [experiment, model] = what;
      lines.push_back(cells.command(experiment, " --set sim.cost_model=" + model, '-' + model));
    }
    return lines;
  }

 private:
  const ClaimReport& report_;
  std::map<std::pair<std::string, std::string>, MissingCells> missing_;
  std::size_t decided_ = 0, alike_ = 0, otherwise_ = 0, lacking_ = 0;
};

}  // namespace

CostModels cost_models_of(const std::filesystem::path& folder) {
  CostModels models;
  for (const std::filesystem::path& path : toml_files(folder / "gpus")) {
    for (const auto& [key, param] : sweep::load_flat_toml(path.string()))
      for (const char* model : {"kernels", "measured", "published"})
        if (key.starts_with(std::string(model) + '.')) models[path.stem().string()].insert(model);
  }
  return models;
}

std::vector<std::string> other_cost_models(const ClaimReport& report, const CostModels& models) {
  Tally tally(report);
  for (const ClaimRow& row : report.rows) {
    if (model_of(row).empty() || !is_decided(row)) continue;
    const auto own = models.find(card_of(row));
    if (own != models.end()) tally.add(row, own->second);
  }
  return tally.lines();
}

}  // namespace analysis
