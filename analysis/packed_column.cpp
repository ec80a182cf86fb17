#include "analysis/packed_column.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "analysis/deflate.hpp"

namespace analysis {
namespace {

static_assert(std::endian::native == std::endian::little, "pages read little-endian numbers");

template <class T>
constexpr std::string_view kType = "";
template <>
constexpr std::string_view kType<double> = "f64";
template <>
constexpr std::string_view kType<float> = "f32";
template <>
constexpr std::string_view kType<std::int32_t> = "i32";
template <>
constexpr std::string_view kType<std::uint32_t> = "u32";
template <>
constexpr std::string_view kType<std::int16_t> = "i16";
template <>
constexpr std::string_view kType<std::uint16_t> = "u16";
template <>
constexpr std::string_view kType<std::int8_t> = "i8";
template <>
constexpr std::string_view kType<std::uint8_t> = "u8";

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

template <class T>
std::span<const std::uint8_t> bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

std::string object(std::string_view type, std::string_view name,
                   std::span<const std::uint8_t> bytes) {
  return R"({"type":")" + std::string(type) + R"(",")" + std::string(name) + R"(":")" +
         base64(bytes) + "\"}";
}

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

template <class T>
std::string packed(std::span<const T> values) {
  return object(kType<T>, "data", bytes_of(values));
}

template <class T>
std::string packed_small(std::span<const T> values) {
  const std::span<const std::uint8_t> bytes = bytes_of(values);
  const auto small = deflated(bytes);
  return small && small->size() < bytes.size() ? object(kType<T>, "deflated", *small)
                                               : object(kType<T>, "data", bytes);
}

template std::string packed(std::span<const double>);
template std::string packed(std::span<const float>);
template std::string packed(std::span<const std::int32_t>);
template std::string packed(std::span<const std::uint32_t>);
template std::string packed(std::span<const std::int16_t>);
template std::string packed(std::span<const std::uint16_t>);
template std::string packed(std::span<const std::int8_t>);
template std::string packed(std::span<const std::uint8_t>);
template std::string packed_small(std::span<const double>);
template std::string packed_small(std::span<const std::int32_t>);
template std::string packed_small(std::span<const std::uint16_t>);
template std::string packed_small(std::span<const std::uint8_t>);

}  // namespace analysis
