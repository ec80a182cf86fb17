#pragma once
#include <ostream>
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

}  // namespace analysis
