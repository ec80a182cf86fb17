#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace analysis {

/// Numbers for the web pages: {"type":"f64","data":"<base64 of the little-endian values>"}. If it
/// is shorter, "deflated" replaces "data": the values in the zlib format.
std::string packed_small(std::span<const double> values);

/// Bytes in base64 (RFC 4648, section 4), with padding.
std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace analysis
