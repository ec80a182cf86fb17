#pragma once
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>

namespace analysis {

/// Writes a page that the web build made (analysis/web), with `json` for the null of its element
/// "kvsweep-data". Every '<' in it is written as \u003c, so that no text can end the element;
/// `json` must be valid JSON, where '<' occurs in strings alone.
///
/// Throws std::system_error when the page cannot be read or the stream refuses it, and
/// std::runtime_error naming the page when it has no such element.
void write_web_page(const std::filesystem::path& page, std::string_view json, std::ostream& out);

}  // namespace analysis
