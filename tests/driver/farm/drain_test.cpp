#include "driver/farm/drain.hpp"

#include "tests/support/catch.hpp"

using driver::DrainSignals;

TEST_CASE("SIGINT, SIGTERM and SIGUSR1 are counted instead of killing") {
  const DrainSignals signals;
  CHECK(signals.count() == 0);
  int sent = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    std::raise(signal);
    CHECK(signals.count() == ++sent);
  }
}

TEST_CASE("what signals did before comes back, and counting starts anew") {
  std::signal(SIGUSR1, SIG_IGN);
  {
    const DrainSignals signals;
    std::raise(SIGUSR1);
    CHECK(signals.count() == 1);
  }
  std::raise(SIGUSR1);  // ignored again
  const DrainSignals signals;
  CHECK(signals.count() == 0);
}

TEST_CASE("a worker ignores all three") {
  driver::ignore_drain_signals();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    std::raise(signal);
    CHECK(std::signal(signal, SIG_DFL) == SIG_IGN);
  }
}
