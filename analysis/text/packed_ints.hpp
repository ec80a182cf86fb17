#pragma once
#include <cstdint>
#include <span>

#include "analysis/text/json_line.hpp"

namespace analysis {

/// Largest absolute value of a packed whole number. Pages compute with doubles, which represent
/// such numbers and their differences exactly.
constexpr std::int64_t kLargestPacked = std::int64_t{1} << 51;

/// Writes whole numbers as one small JSON object, which the trace viewer unpacks
/// (analysis/web/src/viewer/packed_ints.ts). When all are the same: {"same":n}. Otherwise
///   {"bytes":w,"unit":u,"planes":b,"difference":b,"wide":b,"deflated":"<base64>"}
/// Each number is u times an integer; with "difference", u times an integer plus the preceding
/// number. Integers are zigzag coded (0, -1, 1, -2, ... are 0, 1, 2, 3, ...) in w bytes, the lowest
/// first; with "planes" the lowest bytes of all come before the second bytes of all, and so on.
/// "wide" means that some numbers need more than 32 bits. "data" replaces "deflated" if zlib does
/// not make them smaller.
///
/// Throws std::invalid_argument for a number beyond kLargestPacked.
void write_packed(JsonLine& line, std::span<const std::int64_t> values);

}  // namespace analysis
