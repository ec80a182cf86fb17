#pragma once
#include <string>
#include <string_view>

namespace analysis {

/// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so that
/// the output is valid JSON whatever a file said.
void append_json_string(std::string& out, std::string_view text);

/// `text` as a terminal may print it: control characters (C0, DEL, C1), line and direction marks
/// and bytes that are not UTF-8 are spelled out ("\n", "\x1b", "\u202e"), the rest stays.
std::string terminal_text(std::string_view text);

/// Code points of UTF-8 text: the columns that it takes where no character is wide or combining.
std::size_t display_width(std::string_view text);

}  // namespace analysis
