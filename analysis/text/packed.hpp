#pragma once
#include <cstdint>
#include <span>
#include <string>

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

/// Numbers for the web pages: {"type":"f64","data":"<base64 of the little-endian values>"}. If it
/// is shorter, "deflated" replaces "data": the values in the zlib format.
std::string packed_small(std::span<const double> values);

/// A line of a chart in two characters a value: two digits of base64, the higher first. They count
/// 4094ths of the largest value; 4095 is NaN. If all values are the same there are no codes.
struct ScaledLine {
  double largest = 0;  // NaN if all are
  std::string codes;
};
/// Of values that are not negative, or NaN. Throws std::invalid_argument for others.
ScaledLine scaled_line(std::span<const double> values);

/// Bytes in base64 (RFC 4648, section 4), with padding.
std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace analysis
