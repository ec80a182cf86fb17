#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "sweeps/definition/canonical_json.hpp"
#include "workers/binding/binding.hpp"

namespace support {

/// Tests run in the root of the checkout.
inline const std::filesystem::path kProfiles = "sweeps";

inline worker::BoundCell bind(const sweep::ParamMap& params, std::int64_t arrival_seed = 42,
                              const std::string& backend = "sim") {
  worker::Profiles profiles(kProfiles);
  return worker::bind(params, backend, arrival_seed, profiles);
}

inline sweep::KeyRules key_rules() {
  static worker::Profiles profiles(kProfiles);
  return worker::key_rules(profiles);
}

/// The settings of one cell as a sweep file gives them: the n-th setting stands on line n,
/// column 1.
class Cell {
 public:
  explicit Cell(std::string file = "cell.toml") : file_(std::move(file)) {
    set("gpu", "h100-80gb")
        .set("policy", "fcfs")
        .set("jps", 3)
        .set("workload.kind", "swe_smith_like");
  }

  Cell& set(const std::string& key, const char* text) { return put(key, std::string(text)); }
  Cell& set(const std::string& key, const std::string& text) { return put(key, text); }
  Cell& set(const std::string& key, bool value) { return put(key, value); }
  Cell& set(const std::string& key, int value) { return put(key, std::int64_t{value}); }
  Cell& set(const std::string& key, double value) { return put(key, value); }
  Cell& put(const std::string& key, sweep::Value value) {
    const auto known = params_.find(key);
    const int line =
        known == params_.end() ? static_cast<int>(params_.size()) + 1 : known->second.where.line;
    params_[key] = {std::move(value), {file_, line, 1}};
    return *this;
  }
  Cell& without(const std::string& key) {
    params_.erase(key);
    return *this;
  }

  Cell& on(const std::string& backend) {
    backend_ = backend;
    return *this;
  }

  const sweep::ParamMap& params() const { return params_; }
  worker::BoundCell bind(std::int64_t arrival_seed = 42) const {
    return support::bind(params_, arrival_seed, backend_);
  }
  worker::ExperimentConfig config(std::int64_t arrival_seed = 42) const {
    return bind(arrival_seed).config;
  }
  std::string identity(std::int64_t arrival_seed = 42) const {
    return sweep::canonical_json(bind(arrival_seed).identity);
  }
  sweep::CellResult run(std::int64_t arrival_seed = 42) const {
    worker::WorkloadCache workloads;
    return worker::run_experiment(config(arrival_seed), workloads);
  }

  /// What a SpecError says about these settings; "accepted" without one.
  std::string refusal() const {
    try {
      bind();
    } catch (const sweep::SpecError& error) {
      return error.what();
    }
    return "accepted";
  }
  /// Why these well-formed settings cannot run, behind the kind of reason.
  std::string obstacle() const {
    try {
      bind();
    } catch (const worker::Infeasible& reason) {
      return std::string("infeasible: ") + reason.what();
    }
    return "runs";
  }

 private:
  std::string file_;
  std::string backend_ = "sim";
  sweep::ParamMap params_;
};

/// 16 agents on a pool that holds few of them: they queue, lose their KV and are preempted.
inline Cell crowded(const std::string& policy) {
  Cell cell;
  cell.set("policy", policy).set("jps", 8).set("sim.cost_model", "published");
  cell.set("workload.jobs", 16).set("engine.kv_tokens", 40'000);
  return cell.set("engine.reserve_full_sequence", false);
}

}  // namespace support
