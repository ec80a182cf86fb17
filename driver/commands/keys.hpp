#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "workers/binding/keys.hpp"

namespace driver {

/// A script for "bash" or "zsh" that completes commands, their options, and, after --set, the keys
/// of `table` and their values. Throws UsageError for another shell.
std::string completion_script(const std::string& shell, const worker::KeyTable& table);

/// "1-1024 tokens", "fcfs, job_fcfs", "true or false": what a key may hold.
std::string values_in_words(const worker::Key& key);
/// "2 s", "required", "what the GPU's memory has room for".
std::string default_in_words(const worker::Key& key);

/// The rows whose key contains `word`. Throws UsageError when there are none.
std::vector<const worker::Key*> keys_with(const worker::KeyTable& table, const std::string& word);

void print_keys(const std::vector<const worker::Key*>& keys, std::ostream& out);
/// The page keys.md, which the build writes.
void print_keys_markdown(const std::vector<const worker::Key*>& keys, std::ostream& out);

}  // namespace driver
