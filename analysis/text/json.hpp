#pragma once
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

namespace analysis {

/// Keys stay in the order in which they are added. A number that is not finite is written as null.
using Json = nlohmann::ordered_json;

/// On one line. Bytes that are not UTF-8 become U+FFFD.
std::string text_of(const Json& json);

/// Throws std::system_error when the write fails.
void write_line(const Json& json, std::ostream& out);

/// Throws std::system_error with errno, or EIO, when the stream has failed.
void check_written(const std::ostream& out);

/// Flushes the stream. Throws like check_written().
void flush_checked(std::ostream& out);

}  // namespace analysis
