#pragma once
#include <csignal>

namespace driver {

/// While it exists, SIGINT, SIGTERM and SIGUSR1 are counted and do not end the process. The first
/// signal asks for a drain, the second for an immediate stop. At most one instance at a time.
class DrainSignals {
 public:
  DrainSignals();
  ~DrainSignals();
  DrainSignals(const DrainSignals&) = delete;
  DrainSignals& operator=(const DrainSignals&) = delete;
  int count() const;

 private:
  struct sigaction before_[3] = {};
};

/// For workers: mpirun sends these signals to every rank, and only the driver acts on them.
void ignore_drain_signals();

}  // namespace driver
