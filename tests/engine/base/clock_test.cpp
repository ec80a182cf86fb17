#include "workers/engine/base/clock.hpp"

#include <ctime>

#include "tests/support/catch.hpp"

using namespace std::chrono_literals;
using engine::Nanos;

TEST_CASE("virtual time starts at zero and passes by what steps take", "[clock]") {
  engine::VirtualClock clock;
  CHECK(clock.now() == 0ns);
  clock.advance(3ms);
  clock.advance(4ns);
  CHECK(clock.now() == 3ms + 4ns);
}

TEST_CASE("virtual time jumps to what is waited for and never goes back", "[clock]") {
  engine::VirtualClock clock;
  clock.wait_until(1h);
  CHECK(clock.now() == 1h);
  clock.wait_until(1s);
  CHECK(clock.now() == 1h);
}

TEST_CASE("wall time starts near zero and never goes back", "[clock]") {
  const engine::WallClock clock;
  const Nanos first = clock.now();
  const Nanos second = clock.now();
  CHECK(first >= 0ns);
  CHECK(second >= first);
}

TEST_CASE("advancing a wall clock has no effect", "[clock]") {
  engine::WallClock clock;
  clock.advance(1h);
  CHECK(clock.now() < 1h);
}

TEST_CASE("waiting for wall time that has passed returns at once", "[clock]") {
  engine::WallClock clock;
  const Nanos before = clock.now();
  clock.wait_until(before - 1h);
  CHECK(clock.now() < before + 1h);
}

TEST_CASE("waiting for wall time lasts until then", "[clock]") {
  engine::WallClock clock;
  const Nanos then = clock.now() + 1ms;
  clock.wait_until(then);
  CHECK(clock.now() >= then);
}

TEST_CASE("seconds are rounded to the nearest nanosecond", "[clock]") {
  CHECK(engine::from_seconds(0.1) == 100ms);
  CHECK(engine::from_seconds(1e-9 * 0.6) == 1ns);
  CHECK(engine::from_seconds(-2.5) == -2500ms);
  CHECK(engine::to_seconds(250ms) == 0.25);
}

TEST_CASE("the time until an instant is in seconds, negative when it has passed") {
  const std::int64_t now = std::time(nullptr);
  CHECK(engine::seconds_until(now + 100) == Approx(100).margin(2));
  CHECK(engine::seconds_until(now - 100) == Approx(-100).margin(2));
}
