#include "analysis/text/color.hpp"

#include <iomanip>

namespace analysis {
namespace {

/// The streams' own flag.
int flag() {
  static const int index = std::ios_base::xalloc();
  return index;
}

/// ECMA-48: green, red and yellow foreground.
constexpr const char* kStart[] = {"\033[32m", "\033[31m", "\033[33m"};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Colored& word) {
  if (out.iword(flag()) == 0) return out << word.text;
  const auto width = static_cast<int>(out.width(0));
  return out << kStart[static_cast<int>(word.color)] << std::setw(width) << word.text << "\033[0m";
}

void allow_colors(std::ostream& out) { out.iword(flag()) = 1; }

}  // namespace analysis
