#pragma once
// Private to this room.
#include <cstddef>
#include <span>

#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

/// Bytes by which a Python class says what it offers.
inline constexpr std::size_t kPythonOffers = 20 + 27;

/// The functions that the class offers; their state is a PythonPolicy.
kvsweep_policy python_table(std::span<const std::byte> offers);

}  // namespace policies
