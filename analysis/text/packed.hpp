#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace analysis {

/// Bytes in base64 (RFC 4648, section 4), with padding.
std::string base64(std::span<const std::uint8_t> bytes);

/// A value of JSON as {"deflated": "..."}: in the zlib format and base64. Itself in a build without
/// zlib.
std::string packed_json(std::string json);

}  // namespace analysis
