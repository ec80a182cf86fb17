#include "driver/run/workers.hpp"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "analysis/text/escape.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/farm/drain.hpp"
#include "driver/run/setup.hpp"
#include "workers/rank/cell_job.hpp"
#include "workers/rank/ready_worker.hpp"

namespace driver {
namespace {

/// Empty when the driver stops this worker before it welcomes it.
std::optional<worker::Welcome> wait_for_welcome(worker::Channel& channel) {
  while (true) {
    while (const std::optional<worker::Received> received = channel.poll()) {
      if (std::holds_alternative<worker::Stop>(received->message)) return std::nullopt;
      if (const auto* welcome = std::get_if<worker::Welcome>(&received->message)) return *welcome;
      throw worker::ProtocolError("a worker expects to be welcomed before anything else");
    }
    channel.wait(std::chrono::milliseconds(20));
  }
}

/// Ends a worker that cannot serve. Skips MPI_Finalize, which would wait for the driver while the
/// driver waits for this worker. mpirun then ends the job.
[[noreturn]] void give_up(int rank, const std::exception& error, ExitCode code) {
  const std::string text = "kvsweep: worker of rank " + std::to_string(rank) + ": " +
                           analysis::terminal_text(error.what()) + '\n';
  std::cerr << text << std::flush;
  std::_Exit(code);
}

/// For a worker with a hanging cell. It has reported the hang, and the driver ends the job when all
/// results are stored. If the worker left earlier, mpirun would end the driver as well, with the
/// wrong exit code.
[[noreturn]] void wait_for_the_end() {
  while (true) ::pause();
}

int serve_until_dismissed(const Options& options, worker::MpiChannel& channel) {
  const auto welcome = wait_for_welcome(channel);
  if (!welcome) return kOk;
  const worker::ReadyWorker self =
      worker::prepare_worker(worker_hello(options), welcome->backend, channel.place().local_worker,
                             options.profiles, options.cache);
  worker::load_model(*welcome, *self.executor);
  const worker::RunCell runner =
      worker::make_cell_runner(self.hello, channel.place().rank, self.executor);
  engine::WallClock clock;
  const worker::WorkerEnd end = worker::run_worker(channel, clock, self.hello, runner);
  if (end == worker::WorkerEnd::stuck) wait_for_the_end();
  return kOk;
}

}  // namespace

void welcome_workers(worker::MpiChannel& channel, const std::string& backend,
                     const std::string& model_of) {
  worker::Welcome welcome{.backend = backend, .model_of = model_of};
  welcome.group_size = channel.place().size - 1;
  if (!model_of.empty() && welcome.group_size > 1)
    welcome.weights_group = worker::new_weights_group();
  for (int rank = 1; rank < channel.place().size; ++rank) {
    welcome.group_rank = rank - 1;
    channel.send(rank, welcome);
  }
}

void dismiss_workers(worker::MpiChannel& channel) {
  for (int rank = 1; rank < channel.place().size; ++rank) channel.send(rank, worker::Stop{});
  channel.flush(std::chrono::seconds(5));
}

int serve_cells(const Options& options, worker::MpiChannel& channel) {
  ignore_drain_signals();
  try {
    return serve_until_dismissed(options, channel);
  } catch (const worker::InputError& error) {
    give_up(channel.place().rank, error, kUsage);
  } catch (const std::exception& error) {
    give_up(channel.place().rank, error, kInternalError);
  }
}

LocalWorkers::LocalWorkers(int count, Serve serve) : count_(count), serve_(std::move(serve)) {
  for (int i = 0; i < count; ++i) start();
}

std::vector<int> LocalWorkers::numbers() const {
  std::vector<int> all;
  for (int number = 1; number <= count_; ++number) all.push_back(number);
  return all;
}

int LocalWorkers::start() {
  const int number = ++last_;
  auto [here, there] = worker::socket_pair();
  processes_.emplace(number, [&] {
    worker::SocketChannel channel;
    channel.connect(0, std::move(there));
    return serve_(channel);
  });
  sockets_.connect(number, std::move(here));
  return number;
}

void LocalWorkers::send(int to, const worker::Message& message) {
  if (std::holds_alternative<worker::Stop>(message)) serving_.erase(to);
  sockets_.send(to, message);
}

std::optional<worker::Received> LocalWorkers::poll() {
  std::optional<worker::Received> received = sockets_.poll();
  if (received && std::holds_alternative<worker::Hello>(received->message))
    serving_.insert(received->from);
  return received;
}

std::vector<worker::GoneEnd> LocalWorkers::gone() {
  std::vector<worker::GoneEnd> gone = sockets_.gone();
  for (worker::GoneEnd& each : gone) {
    const sweep::ChildEnd end = processes_.at(each.number).wait();
    processes_.erase(each.number);
    each.crashed = sweep::is_crash(end.signal);
    each.signal = end.signal;
    // A worker that dies before it says hello is not replaced: its successor would die the same
    // way.
    if (serving_.contains(each.number)) each.successor = start();
  }
  return gone;
}

}  // namespace driver
