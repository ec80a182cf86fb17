#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>

#include "analysis/trace/trace.hpp"
#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace analysis;

namespace {

std::system_error failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::system_error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  throw std::logic_error("unreachable");
}

}  // namespace

TEST_CASE("tables that contradict each other are refused") {
  HandMadeCell cell = three_jobs();
  cell.steps[4].n_running = 0;
  std::ostringstream out;
  CHECK_THROWS_AS(write_steps(cell.result(), out), std::logic_error);
}

TEST_CASE("a stream to a full device fails with the device's own reason") {
  std::ofstream full("/dev/full");
  if (!full) SKIP_TEST("there is no /dev/full");
  for (const auto write : {write_steps, write_events, write_requests}) {
    std::ofstream device("/dev/full");
    CHECK(failure([&] { write(three_jobs().result(), device); }).code() ==
          std::errc::no_space_on_device);
  }
}
