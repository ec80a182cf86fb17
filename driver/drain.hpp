#pragma once
#include <csignal>
#include <cstdint>

namespace driver {

/// Counts SIGINT, SIGTERM and SIGUSR1 instead of dying of them, while it lives. The first asks for
/// a drain, the second for a stop now. One at a time.
class DrainSignals {
 public:
  DrainSignals();
  ~DrainSignals();
  DrainSignals(const DrainSignals&) = delete;
  DrainSignals& operator=(const DrainSignals&) = delete;
  int count() const;
  /// The last of them, e.g. SIGUSR1; 0 before the first.
  int last() const;

 private:
  struct sigaction before_[3] = {};
};

/// For workers: the driver decides what these signals mean, and mpirun sends them to every rank.
void ignore_drain_signals();

/// Seconds until a Unix time, e.g. SLURM_JOB_END_TIME; negative when it has passed.
double seconds_until(std::int64_t unix_time);

}  // namespace driver
