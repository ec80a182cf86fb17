#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace analysis {

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
