#include "driver/run/workers.hpp"

#include <unistd.h>

#include <iostream>

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

/// For a worker with a hanging cell. It has reported the hang, and the driver ends its process when
/// all results are stored. Under mpirun an earlier end would end the driver as well, with the wrong
/// exit code.
[[noreturn]] void wait_for_the_end() {
  while (true) ::pause();
}

/// Ends a worker on an error of its channel, on which it can say nothing more. Skips MPI_Finalize,
/// which would wait for the driver while the driver waits for this worker.
[[noreturn]] void give_up(const std::string& prefix, const std::exception& error) {
  std::cerr << "kvsweep: " + analysis::terminal_text(prefix + error.what()) + '\n' << std::flush;
  std::_Exit(kInternalError);
}

/// The worker, ready for cells; empty if it is not to serve, or cannot, and has said why.
std::optional<worker::ReadyWorker> ready(const Options& options, worker::Channel& channel,
                                         const worker::WorldPlace& place, const std::string& prefix,
                                         std::optional<worker::Welcome> welcome) {
  worker::Goodbye goodbye;
  try {
    if (!welcome) welcome = wait_for_welcome(channel);
    if (!welcome) return std::nullopt;
    worker::ReadyWorker self =
        worker::prepare_worker(worker_hello(options), welcome->backend, place.local_worker,
                               options.profiles, options.cache);
    worker::load_model(*welcome, *self.executor);
    return self;
  } catch (const worker::InputError& error) {
    goodbye = {.unable = prefix + error.what(), .wrong_input = true};
  } catch (const std::exception& error) {
    goodbye = {.unable = prefix + error.what()};
  }
  channel.send(0, goodbye);
  channel.flush(std::chrono::seconds(10));
  return std::nullopt;
}

}  // namespace

void welcome_workers(worker::MpiChannel& channel, worker::Welcome welcome) {
  welcome.group_size = channel.place().size - 1;
  if (!welcome.model_of.empty() && welcome.group_size > 1)
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

int serve_cells(const Options& options, worker::Channel& channel, const worker::WorldPlace& place,
                std::optional<worker::Welcome> welcome) {
  ignore_drain_signals();
  const std::string prefix =
      place.rank > 0 ? "worker of rank " + std::to_string(place.rank) + ": " : "";
  try {
    const std::optional<worker::ReadyWorker> self =
        ready(options, channel, place, prefix, std::move(welcome));
    if (!self) return kOk;
    engine::WallClock clock;
    const worker::WorkerEnd end =
        worker::run_worker(channel, clock, self->hello,
                           worker::make_cell_runner(self->hello, place.rank, self->executor));
    if (end == worker::WorkerEnd::stuck) wait_for_the_end();
    return kOk;
  } catch (const std::exception& error) {
    give_up(prefix, error);
  }
}

LocalWorkers::LocalWorkers(int count, Serve serve) : count_(count), serve_(std::move(serve)) {
  for (int i = 0; i < count; ++i) start();
}

LocalWorkers::~LocalWorkers() {
  for (auto& [number, process] : processes_)
    if (leaving_.contains(number)) process.join();
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
  connect(number, std::move(here));
  return number;
}

void LocalWorkers::send(int to, const worker::Message& message) {
  if (std::holds_alternative<worker::Stop>(message)) serving_.erase(to);
  SocketChannel::send(to, message);
}

std::optional<worker::Received> LocalWorkers::poll() {
  std::optional<worker::Received> received = SocketChannel::poll();
  if (!received) return received;
  if (std::holds_alternative<worker::Hello>(received->message)) serving_.insert(received->from);
  const auto* goodbye = std::get_if<worker::Goodbye>(&received->message);
  if (goodbye != nullptr && !goodbye->stuck) leaving_.insert(received->from);
  return received;
}

std::vector<worker::GoneEnd> LocalWorkers::gone() {
  std::vector<worker::GoneEnd> gone = SocketChannel::gone();
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
