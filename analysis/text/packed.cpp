#include "analysis/text/packed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/text/deflate.hpp"

namespace analysis {
namespace {

using Bytes = std::vector<std::uint8_t>;

bool beyond_32_bits(std::int64_t value) { return value != static_cast<std::int32_t>(value); }

std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

struct Layout {
  std::size_t width = 1;  // bytes
  bool planes = false, difference = false;
};

struct Packed {
  Layout layout;
  Bytes bytes;
  bool deflated = false;
};

std::vector<std::uint64_t> coded(std::span<const std::int64_t> values, std::int64_t unit,
                                 bool difference) {
  std::vector<std::uint64_t> made(values.size());
  std::int64_t before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    made[i] = zigzag(values[i] / unit - before);
    if (difference) before = values[i] / unit;
  }
  return made;
}

std::size_t width_of(std::span<const std::uint64_t> codes) {
  const std::uint64_t all = std::accumulate(codes.begin(), codes.end(), std::uint64_t{0},
                                            [](std::uint64_t a, std::uint64_t b) { return a | b; });
  return std::max<std::size_t>(1, (static_cast<std::size_t>(std::bit_width(all)) + 7) / 8);
}

Bytes laid_out(std::span<const std::uint64_t> codes, const Layout& layout) {
  Bytes bytes(codes.size() * layout.width);
  const std::size_t step = layout.planes ? 1 : layout.width;
  const std::size_t plane = layout.planes ? codes.size() : 1;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t k = 0; k < layout.width; ++k)
      bytes[i * step + k * plane] = static_cast<std::uint8_t>(codes[i] >> (8 * k));
  }
  return bytes;
}

Packed pack(std::span<const std::uint64_t> codes, const Layout& layout) {
  Bytes bytes = laid_out(codes, layout);
  if (auto small = deflated(bytes); small && small->size() < bytes.size())
    return {layout, std::move(*small), true};
  return {layout, std::move(bytes), false};
}

/// The best layout depends on the numbers, so all are tried.
Packed smallest(std::span<const std::int64_t> values, std::int64_t unit) {
  std::optional<Packed> best;
  for (const bool difference : {false, true}) {
    const std::vector<std::uint64_t> codes = coded(values, unit, difference);
    const std::size_t width = width_of(codes);
    for (const bool planes : {true, false}) {
      if (!planes && (width != 2 || difference)) continue;
      Packed tried = pack(codes, {width, planes, difference});
      if (!best || tried.bytes.size() < best->bytes.size()) best = std::move(tried);
    }
  }
  return std::move(*best);
}

std::int64_t unit_of(std::span<const std::int64_t> values) {
  std::int64_t unit = 0;
  for (const std::int64_t value : values) {
    if (value > kLargestPacked || value < -kLargestPacked)
      throw std::invalid_argument(std::to_string(value) + " cannot be packed for a page");
    unit = std::gcd(unit, value);
  }
  return std::max<std::int64_t>(1, unit);
}

static_assert(std::endian::native == std::endian::little, "pages read little-endian numbers");

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string object(std::string_view name, std::span<const std::uint8_t> bytes) {
  return R"({"type":"f64",")" + std::string(name) + R"(":")" + base64(bytes) + "\"}";
}

}  // namespace

void write_packed(JsonLine& line, std::span<const std::int64_t> values) {
  const auto differs = [&](std::int64_t value) { return value != values.front(); };
  const std::int64_t unit = unit_of(values);
  if (std::ranges::none_of(values, differs)) {
    line.open('{').key("same").integer(values.empty() ? 0 : values.front()).close('}');
    return;
  }
  const Packed packed = smallest(values, unit);
  line.open('{').key("bytes").integer(static_cast<std::int64_t>(packed.layout.width));
  line.key("unit").integer(unit).key("planes").boolean(packed.layout.planes);
  line.key("difference").boolean(packed.layout.difference);
  line.key("wide").boolean(std::ranges::any_of(values, beyond_32_bits));
  line.key(packed.deflated ? "deflated" : "data").text(base64(packed.bytes)).close('}');
}

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

std::string packed_small(std::span<const double> values) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes());
  const auto small = deflated(bytes);
  return small && small->size() < bytes.size() ? object("deflated", *small) : object("data", bytes);
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
