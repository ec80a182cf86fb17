#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace analysis {

/// Numbers as the web pages unpack them: {"type":"f64","data":"<base64 of the little-endian
/// values>"}. The type is one of f64, f32, i32, u32, i16, u16, i8 and u8.
template <class T>
std::string packed(std::span<const T> values);

/// The same with "deflated" for "data" where that is shorter: the values in the zlib format.
template <class T>
std::string packed_small(std::span<const T> values);

/// Bytes in base64 (RFC 4648, section 4), with padding.
std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace analysis
