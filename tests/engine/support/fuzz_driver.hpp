#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tests/engine/support/fuzz_case.hpp"

namespace support {

/// Runs a fuzz case against one world: turns arrive when they are due, and some are aborted. Hooks
/// see every submission, abort and step, so that a model can run in parallel.
class FuzzDriver {
 public:
  struct Hooks {
    std::function<void(const engine::Request&)> submitted = [](const engine::Request&) {};
    std::function<void(const engine::Request&)> aborted = [](const engine::Request&) {};
    std::function<void()> scheduled = [] {};
    std::function<void()> applied = [] {};
  };

  FuzzDriver(const FuzzCase& fuzz, SchedulerWorld& world, Hooks hooks);

  /// Runs until every job has ended. Throws std::logic_error when a request does not end with
  /// exactly its outputs, or when blocks or pins remain at the end.
  void run();

 private:
  struct Client {
    const FuzzJob* job = nullptr;
    std::size_t turn = 0;
    Tokens context;
    int next_arrival = 0;
    int arrived = 0;
    double job_arrival_s = 0;
    engine::Request* request = nullptr;  // the turn in the engine
  };

  void submit(int job, int step);
  void abort_impatient(int step);
  void on_finished(engine::Request& request, int step);
  void check_end();
  Client& client_of(const engine::Request& request) {
    return clients_[engine::index(request.spec.job)];
  }

  const FuzzCase& fuzz_;
  SchedulerWorld& world_;
  Hooks hooks_;
  std::vector<Client> clients_;
  std::size_t unfinished_;
  int num_submitted_ = 0;
};

}  // namespace support
