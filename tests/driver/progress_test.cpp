#include "driver/farm/progress.hpp"

#include <algorithm>
#include <sstream>

#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using driver::FarmStatus;
using driver::ProgressLine;

namespace {

FarmStatus ten_of_many() {
  FarmStatus status;
  status.cells = 72;
  status.done = 10;
  status.waiting = 62;
  return status;
}

/// What a line says on a terminal of so many columns.
std::string shown(int columns) {
  std::ostringstream out;
  ProgressLine line(out, true, [columns] { return columns; });
  line.update(ten_of_many());
  return out.str();
}

}  // namespace

TEST_CASE("the progress line stays short of the last column, which would wrap it") {
  const std::string whole = driver::status_text(ten_of_many());
  CHECK(shown(0) == whole);  // it does not say how wide it is
  CHECK(shown(static_cast<int>(whole.size()) + 1) == whole);
  const std::string cut = shown(static_cast<int>(whole.size()));
  CHECK(cut.size() == whole.size() - 1);
  CHECK(shown(20) == whole.substr(0, 16) + "...");
  CHECK(shown(3) == whole.substr(0, 2));
  CHECK(shown(1).empty());
}

TEST_CASE("a line that was cut is erased as far as it went") {
  std::ostringstream out;
  {
    ProgressLine line(out, true, [] { return 20; });
    line.update(ten_of_many());
  }
  CHECK(out.str().substr(19) == '\r' + std::string(19, ' ') + '\r');
}

TEST_CASE("lines are not truncated unless the output is a terminal") {
  std::ostringstream out;
  ProgressLine line(out, false, [] { return 20; });
  FarmStatus status = ten_of_many();
  status.now = std::chrono::seconds(20);
  line.update(status);
  CHECK(out.str() == driver::status_text(status) + '\n');
}

TEST_CASE("plain counts come every ten seconds, and at once when the run begins to drain") {
  std::ostringstream out;
  ProgressLine line(out, false);
  FarmStatus status = ten_of_many();
  const auto lines_at = [&](int second) {
    status.now = std::chrono::seconds(second);
    line.update(status);
    const std::string text = out.str();
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines_at(20) == 1);
  CHECK(lines_at(29) == 1);
  CHECK(lines_at(30) == 2);
  status.draining = true;
  CHECK(lines_at(31) == 3);
  CHECK(lines_at(32) == 3);
  CHECK(lines_at(41) == 4);
}

TEST_CASE("control characters in a cell's label or reason are escaped") {
  std::ostringstream out;
  ProgressLine line(out, true, [] { return 80; });
  line.report("gpu=\x1b[2Jh100: failed");
  CHECK(out.str() == "gpu=\\x1b[2Jh100: failed\n");
}
