#pragma once
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>

namespace analysis {

/// Writes a page of the web build (analysis/web), with `json` in place of the null in its element
/// "kvsweep-data". Every '<' in it is written as \u003c, so no text can end the element; `json`
/// must be valid JSON, where '<' occurs only in strings.
///
/// Throws std::system_error when the page cannot be read or the write fails, and
/// std::runtime_error, which names the page, when it has no such element.
void write_web_page(const std::filesystem::path& page, std::string_view json, std::ostream& out);

/// Bytes in base64 (RFC 4648, section 4), with padding.
std::string base64(std::string_view bytes);

/// The text in the zlib format (RFC 1950), which browsers inflate, and base64. Throws
/// std::runtime_error when zlib fails.
std::string packed(std::string_view text);

}  // namespace analysis
