#include "analysis/ranking/place_names.hpp"

#include "tests/support/catch.hpp"

using analysis::Place;
using analysis::PlaceNames;

namespace {

std::vector<std::string> named(const std::vector<Place>& places) {
  PlaceNames names;
  for (const Place& each : places) names.add(each);
  std::vector<std::string> texts;
  for (const Place& each : places) texts.push_back(names(each));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a place is named by the settings that tell it from the others, and by no more") {
  CHECK(named({{"MODELLED", "h100", "n=16, size=8"}}) == Texts{"h100"});
  CHECK(named({{"MODELLED", "h100", "n=16, size=8"}, {"MODELLED", "h100", "n=16, size=16"}}) ==
        Texts{"h100, size=8", "h100, size=16"});
  // The pool follows from the card.
  CHECK(named({{"MODELLED", "h100", "pool=4, size=8"},
               {"MODELLED", "h200", "pool=9, size=8"},
               {"MODELLED", "h200", "pool=9, size=16"}}) ==
        Texts{"h100, size=8", "h200, size=8", "h200, size=16"});
  CHECK(named({{"MODELLED", "h100", "kind=a"}, {"MODELLED", "h100", "kind=a, skew=1"}}) ==
        Texts{"h100", "h100, skew=1"});
}

TEST_CASE("a place is named by its kind where there are several") {
  CHECK(named({{"MODELLED", "h100", ""}, {"MEASURED", "h100", ""}}) ==
        Texts{"MODELLED, h100", "MEASURED, h100"});
}

TEST_CASE("a setting's value may contain a comma") {
  CHECK(named({{"MODELLED", "h100", "sizes=1, 2 and 3, n=4"},
               {"MODELLED", "h100", "sizes=1, 2, n=5"}}) ==
        Texts{"h100, sizes=1, 2 and 3", "h100, sizes=1, 2"});
}
