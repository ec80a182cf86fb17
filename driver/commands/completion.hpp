#pragma once
#include <string>

#include "workers/binding/keys.hpp"

namespace driver {

/// A script for "bash" or "zsh" that completes commands, their options, and, after --set, the keys
/// of `table` and their values. Throws UsageError for another shell.
std::string completion_script(const std::string& shell, const worker::KeyTable& table);

}  // namespace driver
