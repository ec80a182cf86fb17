#include "driver/farm/progress.hpp"

#include <sstream>

#include "tests/support/catch.hpp"

using driver::MergeReporter;
using std::chrono::seconds;

TEST_CASE("a merge of a moment says nothing, and a long one what it is at, every ten seconds") {
  std::ostringstream out;
  engine::Nanos now{0};
  MergeReporter report(out, [&now] { return now; });
  for (std::size_t cell = 0; cell < 72; ++cell) report("merging cells", cell, 72);
  CHECK(out.str().empty());
  now = seconds(5);
  report("merging cells", 0, 72);
  for (std::size_t second = 1; second <= 24; ++second) {
    now = seconds(5 + second);
    report("merging cells", second, 72);
  }
  now = seconds(40);
  report("verifying cells", 0, 72);
  CHECK(out.str() ==
        "merging cells: 2 of 72\nmerging cells: 12 of 72\nmerging cells: 22 of 72\n"
        "verifying cells: 0 of 72\n");
}

TEST_CASE("a merge without new cells says nothing") {
  std::ostringstream out;
  MergeReporter report(out, [] { return engine::Nanos(seconds(100)); });
  report("verifying cells", 0, 0);
  CHECK(out.str().empty());
}
