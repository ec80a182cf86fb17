#include "analysis/text/escape.hpp"

#include <iomanip>
#include <sstream>

#include "tests/support/catch.hpp"

using analysis::Color;
using analysis::Colored;

TEST_CASE("a word is in color only on a stream that shows colors, and as wide as without") {
  std::ostringstream plain, terminal;
  analysis::allow_colors(terminal);
  for (std::ostringstream* out : {&plain, &terminal})
    *out << std::left << std::setw(5) << Colored{Color::good, "ok"} << '|'
         << Colored{Color::bad, "no"};
  CHECK(plain.str() == "ok   |no");
  CHECK(terminal.str() == "\033[32mok   \033[0m|\033[31mno\033[0m");
}
