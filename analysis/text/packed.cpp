#include "analysis/text/packed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace analysis {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < here ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= here ? kDigits[bits >> (18 - 6 * k) & 63u] : '=';
  }
  return text;
}

ScaledLine scaled_line(std::span<const double> values) {
  constexpr int kLevels = 4094, kNotObserved = 4095, kBase = 64;
  ScaledLine line{std::numeric_limits<double>::quiet_NaN(), ""};
  for (const double value : values) {
    if (value < 0 || std::isinf(value))
      throw std::invalid_argument(std::to_string(value) + " cannot be scaled for a page");
    line.largest = std::fmax(line.largest, value);
  }
  const auto is_largest = [&](double value) { return value == line.largest; };
  if (std::isnan(line.largest) || std::ranges::all_of(values, is_largest)) return line;
  for (const double value : values) {
    const int code = std::isnan(value)
                         ? kNotObserved
                         : static_cast<int>(std::lround(value / line.largest * kLevels));
    line.codes += kDigits[static_cast<std::size_t>(code / kBase)];
    line.codes += kDigits[static_cast<std::size_t>(code % kBase)];
  }
  return line;
}

}  // namespace analysis
