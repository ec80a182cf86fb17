#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace sweep {

/// The names in "none, prefill, decode".
template <std::size_t n>
constexpr std::array<std::string_view, n> names_in(std::string_view list) {
  std::array<std::string_view, n> names;
  for (std::string_view& name : names) {
    const std::size_t comma = std::min(list.find(','), list.size());
    name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 2, list.size()));
  }
  return names;
}

}  // namespace sweep

/// An enumeration, and the names of its enumerators for archives: themselves.
#define SWEEP_ENUM(Enum, ...)                                                                 \
  enum class Enum : std::int8_t { __VA_ARGS__ };                                              \
  inline std::span<const std::string_view> enum_names(Enum) {                                 \
    static constexpr std::string_view kList = #__VA_ARGS__;                                   \
    static constexpr auto kNames =                                                            \
        sweep::names_in<static_cast<std::size_t>(std::ranges::count(kList, ',')) + 1>(kList); \
    return kNames;                                                                            \
  }
