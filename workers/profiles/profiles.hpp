#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "sweeps/definition/params.hpp"
#include "workers/backends/sim/gpu_profile.hpp"
#include "workers/model/config.hpp"

namespace worker {

/// Names of the profiles in a folder, e.g. dir/"gpus": the stems of its .toml files, sorted.
/// Throws sweep::SpecError when there is no such folder.
std::vector<std::string> profile_names(const std::filesystem::path& folder);

/// Reads dir/gpus/NAME.toml. Throws sweep::SpecError: an unknown name lists the known ones, a
/// missing, unknown or impossible key is named with its file.
backends::GpuProfile load_gpu_profile(const std::filesystem::path& dir, const std::string& name);

/// Reads dir/models/NAME.toml, with the same errors.
model::ModelConfig load_model_config(const std::filesystem::path& dir, const std::string& name);

/// Reads dir/policies/NAME.toml: a named policy is a choice on the axes of the policy space.
sweep::ParamMap load_policy_profile(const std::filesystem::path& dir, const std::string& name);

}  // namespace worker
