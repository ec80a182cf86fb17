#pragma once
#include <filesystem>

#include "workers/model/config.hpp"

namespace model {

/// Throws engine::InputError, naming file and key, where DIR/config.json is that of another model:
/// tensors of the same shapes mean something else with other heads, norms or rotary positions. The
/// type may be another, since weights are converted, and so may the context: a profile limits it.
void require_configuration(const std::filesystem::path& dir, const ModelConfig& expected);

}  // namespace model
