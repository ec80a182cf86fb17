#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "sweeps/params.hpp"
#include "workers/experiment.hpp"
#include "workers/profiles.hpp"

namespace worker {

/// The cell is well-formed but cannot run: the model does not fit the card.
struct Infeasible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A cell's parameters as an experiment.
struct BoundCell {
  ExperimentConfig config;
  /// Every value that the result depends on, defaults included: what a cell is.
  std::map<std::string, sweep::Value> identity;
};

/// Checks a cell's parameters and fills in the defaults. `profiles` are those of the folder with
/// gpus/, models/ and policies/; `arrival_seed` is the seed of this repeat. Relative paths count
/// from the sweep file, or from the working directory when they come from the command line. Throws
/// sweep::SpecError naming the place of a wrong value or an unknown key, and Infeasible.
BoundCell bind(const sweep::ParamMap& params, const std::string& backend, std::int64_t arrival_seed,
               Profiles& profiles);

/// Keys about executing a model that `backend` allows and makes nothing of, so that one sweep file
/// serves them all.
std::vector<std::string> keys_without_effect(const std::string& backend);

/// Whether the policy among these parameters keeps KV in host memory.
bool uses_host_tier(const sweep::ParamMap& params, Profiles& profiles);

}  // namespace worker
