#pragma once
#include <string>

#include "workers/binding/keys.hpp"

namespace driver {

/// A script for "bash" or "zsh" that completes commands, their options, and behind --set the keys
/// of `table` and what they may hold. Throws UsageError for another shell.
std::string completion_script(const std::string& shell, const worker::KeyTable& table);

}  // namespace driver
