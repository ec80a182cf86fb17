#pragma once
#include <iosfwd>
#include <string>

namespace worker {

/// Compares a replay, line by line, with a recording. Writes the first line that differs, each of
/// its fields that do with both values, and the rules that decide the field. True when all are
/// equal.
bool equals_recording(const std::string& replay, std::istream& recording, std::ostream& out);

}  // namespace worker
