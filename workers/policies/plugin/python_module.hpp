#pragma once
// Private to this room.
#include <string_view>

namespace policies {

/// The text of analysis/python/kvsweep_policy.py.
std::string_view python_module();

}  // namespace policies
