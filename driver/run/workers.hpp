#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "driver/command_line/options.hpp"
#include "driver/plan/plan.hpp"
#include "sweeps/files/child_process.hpp"
#include "workers/rank/channel.hpp"
#include "workers/rank/local_channels.hpp"

namespace driver {

// The worker's side of a run, and the driver's messages that begin it.

/// Tells every worker what it will serve. On cuda `model_of` is the encoded job of a cell: workers
/// load the model of that cell before they say hello.
void welcome_workers(worker::MpiChannel& channel, const std::string& backend,
                     const std::string& model_of);

/// Stops workers that have not been welcomed.
void dismiss_workers(worker::MpiChannel& channel);

/// Serves cells until the driver stops this worker. Returns the process's exit code.
int serve_cells(const Options& options, worker::MpiChannel& channel);

/// Workers that are processes forked from this one, which must have a single thread, and the
/// channel to them. A cell that crashes its process costs that process only: another one takes its
/// place.
class LocalWorkers final : public worker::Channel {
 public:
  /// A worker's whole life, on its end of the channel, where this process is end 0. Returns the
  /// exit code.
  using Serve = std::function<int(worker::Channel&)>;

  /// Starts workers 1 to `count`. Throws FileError when one cannot be started.
  LocalWorkers(int count, Serve serve);
  /// The workers of the start.
  std::vector<int> numbers() const;

  void send(int to, const worker::Message& message) override;
  std::optional<worker::Received> poll() override;
  void wait(engine::Nanos longest) override { sockets_.wait(longest); }
  bool flush(engine::Nanos longest) override { return sockets_.flush(longest); }
  /// Starts the successors of those that it names, unless they had been told to stop.
  std::vector<worker::GoneEnd> gone() override;

 private:
  int start();

  int count_;
  int last_ = 0;  // the number of the youngest worker
  Serve serve_;
  worker::SocketChannel sockets_;
  std::map<int, sweep::ChildProcess> processes_;
  std::set<int> serving_;  // have said hello, and were not told to stop
};

}  // namespace driver
