#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "driver/command_line/options.hpp"
#include "driver/plan/plan.hpp"
#include "sweeps/process/child_process.hpp"
#include "workers/rank/channel.hpp"
#include "workers/rank/local_channels.hpp"

namespace driver {

// The worker's side of a run, and the driver's messages that begin it.

/// Tells every rank but the first what it will serve; adds the group in which they share weights.
void welcome_workers(worker::MpiChannel& channel, worker::Welcome welcome);

/// Stops workers that have not been welcomed.
void dismiss_workers(worker::MpiChannel& channel);

/// Serves cells until the driver, end 0 of the channel, stops this worker; without a welcome waits
/// for the driver's. Tells the driver why it cannot serve. Returns the process's exit code.
int serve_cells(const Options& options, worker::Channel& channel, const worker::WorldPlace& place,
                std::optional<worker::Welcome> welcome = {});

/// Workers that are processes forked from this one, which must have a single thread, and the
/// channel to them. A cell that crashes its process costs that process only: another one takes its
/// place.
class LocalWorkers final : public worker::SocketChannel {
 public:
  /// A worker's whole life, on its end of the channel, where this process is end 0. Returns the
  /// exit code.
  using Serve = std::function<int(worker::Channel&)>;

  /// Starts workers 1 to `count`. Throws FileError when one cannot be started.
  LocalWorkers(int count, Serve serve);
  /// Waits for the processes that have said goodbye, which may have to end a server, and kills the
  /// others.
  ~LocalWorkers() override;
  /// The workers of the start.
  std::vector<int> numbers() const;

  void send(int to, const worker::Message& message) override;
  std::optional<worker::Received> poll() override;
  /// Starts the successors of those that it names, unless they had been told to stop.
  std::vector<worker::GoneEnd> gone() override;

 private:
  int start();

  int count_;
  int last_ = 0;  // the number of the youngest worker
  Serve serve_;
  std::map<int, sweep::ChildProcess> processes_;
  std::set<int> serving_;  // have said hello, and were not told to stop
  std::set<int> leaving_;  // have said goodbye, and are not stuck
};

}  // namespace driver
