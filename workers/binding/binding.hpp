#pragma once
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sweeps/definition/cell.hpp"
#include "workers/binding/profile_cache.hpp"
#include "workers/cell/experiment.hpp"

namespace worker {

/// The cell is well-formed but cannot run: the model does not fit the card.
struct Infeasible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The cell combines parts that kvsweep does not have together yet; what() says which.
struct NotBuilt : Infeasible {
  using Infeasible::Infeasible;
};

/// A cell's parameters as an experiment.
struct BoundCell {
  ExperimentConfig config;
  /// Every value that the result depends on, defaults included: what a cell is.
  std::map<std::string, sweep::Value> identity;
  /// The keys given, by the cell or its policy's file, whose values the experiment uses.
  std::set<std::string> counting;
  /// The values that the cell gives to keys of its policy in place of those of the named policy.
  std::map<std::string, sweep::Value> policy_changes;

  /// The policy's name and its changes, "fcfs+retention=pin", except those that are axes: they are
  /// shown as settings of their own.
  std::string policy_label(const sweep::AxisValues& axes) const;
};

/// Checks a cell's parameters and fills in the defaults. `profiles` are those of the folder with
/// gpus/, models/ and policies/; `arrival_seed` is the seed of this repeat. Relative paths count
/// from the sweep file, or from the working directory when they come from the command line. Throws
/// sweep::SpecError naming the place of a wrong value or an unknown key, and Infeasible.
BoundCell bind(const sweep::ParamMap& params, const std::string& backend, std::int64_t arrival_seed,
               Profiles& profiles);

/// Gives an experiment the arrivals of another repeat: what bind() binds with that seed.
void set_arrival_seed(ExperimentConfig& config, std::int64_t seed);

/// A policy's parameters and dram_gib count where the policy uses them, all other keys everywhere.
/// Keeps a reference to `profiles`.
sweep::KeyRules key_rules(Profiles& profiles);

/// "gpu=h100-80gb policy=fcfs jps=1", with " engine.emulate=a100-40gb" behind it for a pool that is
/// not the card's own, axis or not, and " repeat=2" from repeat 1 on.
std::string label(const sweep::Cell& cell);

}  // namespace worker
