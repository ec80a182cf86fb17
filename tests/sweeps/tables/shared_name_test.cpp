#include "sweeps/tables/shared.hpp"

#include <vector>

#include "sweeps/tables/result.hpp"
#include "tests/support/catch.hpp"

using sweep::SharedName;

TEST_CASE("equal names are one text, and others sort as texts do") {
  const std::string longer = "a_name_that_is_too_long_for_a_short_string";
  const SharedName a = longer, b = std::string_view(longer), other = "b";
  CHECK(&a.text() == &b.text());
  CHECK(a == b);
  CHECK(a == longer);
  CHECK_FALSE(a == other);
  CHECK(a < other);
  CHECK_FALSE(other < a);
  CHECK(SharedName().text().empty());
  CHECK(SharedName() == "");
}

TEST_CASE("a figure is found by its name") {
  const std::vector<sweep::Figure> figures = {{"steps", 3, ""}, {"makespan_s", 41.5, "s"}};
  const sweep::Figure* found = sweep::find_named(figures, "makespan_s");
  REQUIRE(found != nullptr);
  CHECK(found->value == 41.5);
  CHECK(sweep::find_named(figures, SharedName("steps")) == &figures.front());
  CHECK(sweep::find_named(figures, "turns") == nullptr);
}
