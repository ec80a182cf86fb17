#pragma once
#include <string>
#include <string_view>

namespace analysis {

/// Bytes in base64 (RFC 4648, section 4), with padding.
std::string base64(std::string_view bytes);

/// The text in the zlib format (RFC 1950), which browsers inflate, and base64. Throws
/// std::runtime_error when zlib fails.
std::string packed(std::string_view text);

}  // namespace analysis
