#pragma once
#include <filesystem>

#include "workers/model/config.hpp"

namespace model {

/// Throws engine::InputError, naming file and key, when DIR/config.json describes another model:
/// tensors of the same shapes mean something else with other heads, norms or rotary positions. The
/// type may differ, since weights are converted, and so may the context, since a profile limits it.
void require_configuration(const std::filesystem::path& dir, const ModelConfig& expected);

}  // namespace model
