#pragma once
// Private to this room: the parts that error messages have in common.
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/definition/params.hpp"

namespace sweep {

/// Throws SpecError "<where>: <message>".
[[noreturn]] void fail_at(const Location& where, const std::string& message);

/// A TOML string with its quotes.
std::string in_quotes(std::string_view text);

/// A value as TOML writes it, or what stands for it if its key is that of a secret.
std::string shown(const std::string& key, const Value& value);

/// "KEY must be one of 1, 3, found 2", with the nearest if there is one: " (did you mean 3?)". The
/// values are shown().
std::string must_be_one_of(const std::string& key, const std::vector<Value>& allowed,
                           const Value& found);

/// ": several are an axis of the sweep file, [axes] jps = [1,3]"
std::string values_belong_in_file(const std::string& key, const std::string& values);

/// "a", "b", "c"
std::string listed(const std::vector<std::string>& words);

/// "the string "x"": for the "found ..." part of a message.
std::string describe(const Value& value);

}  // namespace sweep
