#pragma once
// Private to this room: the settings of a policy as text.
#include <string>

#include "workers/policies/config.hpp"
#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

/// Reads lines "KEY = VALUE". Throws engine::InputError for keys that a scheduler of others cannot
/// obey, and for values that are not allowed.
PolicyConfig read_settings(const std::string& text, const kvsweep_setup& pool);

}  // namespace policies
