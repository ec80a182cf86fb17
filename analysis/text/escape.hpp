#pragma once
#include <ostream>
#include <string>
#include <string_view>

namespace analysis {

enum class Color { good, bad, unsure };

/// A word in color, on streams that show colors; plain elsewhere. Keeps the stream's width.
struct Colored {
  Color color;
  std::string_view text;
};
std::ostream& operator<<(std::ostream& out, const Colored& word);

/// The stream is a terminal whose user wants colors.
void allow_colors(std::ostream& out);

/// `text` made safe for a terminal: control characters (C0, DEL, C1), line and direction marks and
/// bytes that are not UTF-8 are escaped ("\n", "\x1b", "\u202e").
std::string terminal_text(std::string_view text);

/// Number of code points of UTF-8 text: its width in columns if no character is wide or combining.
std::size_t display_width(std::string_view text);

/// The word, quoted for the shell if it needs quotes: as $'caf\xe9', in ASCII, if it is not UTF-8
/// or has characters that a terminal acts on.
std::string shell_word(const std::string& word);

}  // namespace analysis
