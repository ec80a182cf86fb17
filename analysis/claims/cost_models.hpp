#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/claims/claims.hpp"

namespace analysis {

/// The cost models of each card: "h100-80gb" -> {"kernels", "measured", "published"}.
using CostModels = std::map<std::string, std::set<std::string>>;

/// By the tables of the files of `folder`/gpus. Throws sweep::SpecError.
CostModels cost_models_of(const std::filesystem::path& folder);

/// How many of the numbers that are decided on sim have the same verdict under every other cost
/// model of their card, and the commands that run the cells of those that lack one. Each cost model
/// has verdicts of its own, which stay.
std::vector<std::string> other_cost_models(const ClaimReport& report, const CostModels& models);

}  // namespace analysis
