#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace analysis {

/// The bytes in the zlib format (RFC 1950), which browsers can inflate; empty in a build without
/// zlib. Throws std::runtime_error when zlib fails.
std::optional<std::vector<std::uint8_t>> deflated(std::span<const std::uint8_t> bytes);

}  // namespace analysis
