#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace analysis {

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
