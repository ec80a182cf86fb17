#include "sweeps/tables/shared.hpp"

#include <vector>

#include "tests/support/catch.hpp"

TEST_CASE("a text that shares the ends of its neighbour reads as it was given") {
  const std::string base = "{\"dram_gib\":1,\"gpu\":\"h100-80gb\",\"jps\":1.5,\"policy\":\"fcfs\"}";
  std::string longer = base, other = base;
  longer.insert(13, "00");
  other.replace(other.find("1.5"), 3, "22");
  const std::vector<std::string> texts = {base,        base, longer, base,  other, "",   "{}",
                                          base + base, base, "11",   "111", "1",   "21", "12"};
  sweep::SharedText before;
  for (const std::string& each : texts) {
    const sweep::SharedText text(each, &before);
    CHECK(text.text() == each);
    CHECK(sweep::SharedText(each, nullptr).text() == each);
    before = text;
  }
  CHECK(sweep::SharedText().text().empty());
}
