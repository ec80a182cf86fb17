#include "driver/farm/drain.hpp"

#include <array>
#include <atomic>

namespace driver {
namespace {

constexpr std::array<int, 3> kDrainSignals = {SIGINT, SIGTERM, SIGUSR1};

// The signal handler writes nothing else. Lock-free, hence async-signal-safe.
std::atomic<int> received_count{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note_signal(int) { ++received_count; }

}  // namespace

DrainSignals::DrainSignals() {
  received_count = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;  // no SA_RESTART: a signal wakes a sleeping driver
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kDrainSignals.size(); ++i)
    sigaction(kDrainSignals[i], &action, &before_[i]);
}

DrainSignals::~DrainSignals() {
  for (std::size_t i = 0; i < kDrainSignals.size(); ++i)
    sigaction(kDrainSignals[i], &before_[i], nullptr);
}

int DrainSignals::count() const { return received_count; }

void ignore_drain_signals() {
  for (const int signal : kDrainSignals) std::signal(signal, SIG_IGN);
}

}  // namespace driver
