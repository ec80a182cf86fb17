#include "analysis/text/text_table.hpp"

#include <fstream>

#include "tests/support/catch.hpp"

TEST_CASE("numbers are rounded once from their exact value, away from zero halfway between two") {
  std::ifstream in("tests/web/unit/rounding.txt");  // which the page's unit tests read too
  std::string value, shown;
  int count = 0;
  while (in >> value >> shown) {
    INFO(value);
    CHECK(analysis::four_digits(std::stod(value)) == shown);
    ++count;
  }
  CHECK(count >= 10);
  CHECK(analysis::two_decimals(0.125) == "0.13");
}
