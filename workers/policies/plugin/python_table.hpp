#pragma once
// Private to this room.
#include <cstddef>
#include <span>
#include <string>

#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

/// Bytes by which a Python class says what it offers: settings, functions, and the digest of what
/// it imports.
inline constexpr std::size_t kPythonSettings = 20, kPythonFunctions = 27, kPythonDigest = 32;
inline constexpr std::size_t kPythonOffers = kPythonSettings + kPythonFunctions + kPythonDigest;

/// The functions that the class offers; their state is a PythonPolicy.
kvsweep_policy python_table(std::span<const std::byte> offers);
/// SHA-256 of the files of the plugin's folder that it has imported, in hexadecimal digits; empty
/// where it has imported none.
std::string imported_digest(std::span<const std::byte> offers);

}  // namespace policies
