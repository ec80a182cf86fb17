#include "workers/rank/worker_loop.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace worker {
namespace {

using engine::Nanos;

/// Whether any other cell could have hit this error.
bool is_of_the_machine(const std::error_code& code) {
  constexpr std::errc kNotOfTheCell[] = {
      std::errc::not_enough_memory,   std::errc::resource_unavailable_try_again,
      std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
      std::errc::no_space_on_device,  std::errc::io_error};
  return std::ranges::any_of(kNotOfTheCell, [&](std::errc each) { return code == each; });
}

Message outcome_of(const RunCell& run_cell, const Assign& work, const CellContext& context) {
  Failed failed{.attempt = work.attempt, .reason = {}};
  try {
    return Done{work.attempt, run_cell(work.config, context)};
  } catch (const DeviceLost& error) {
    failed.reason = error.what();
    failed.poisoned = true;
    return failed;
  } catch (const WrongServer& error) {
    failed.reason = error.what();
    failed.wrong_server = true;
  } catch (const CellVerdict& error) {
    failed.kind = error.kind;
    failed.reason = error.what();
  } catch (const std::bad_alloc&) {
    failed.reason = "out of host memory";
    failed.machine_fault = true;
  } catch (const std::system_error& error) {
    failed.reason = error.what();
    failed.machine_fault = is_of_the_machine(error.code());
  } catch (const std::exception& error) {
    failed.reason = error.what();
  } catch (...) {
    failed.reason = "an exception of unknown type";
  }
  // An exception of a cell that was asked to stop is not a failure of the cell.
  if (context.stop.stop_requested()) return Abandoned{work.attempt};
  return failed;
}

/// State shared by the cell's thread and the messaging thread.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Message> outcome;
  Progress progress{};
};

/// One attempt at a cell, on a thread of its own.
class CellRun {
 public:
  CellRun(const RunCell& run_cell, Assign work, Nanos now)
      : attempt_(work.attempt), last_heartbeat_(now) {
    // Shared and copied, because a thread that does not stop is detached (see leave_behind).
    thread_ = std::jthread([run_cell, box = box_, work = std::move(work)](std::stop_token stop) {
      const CellContext context{work.attempt, stop,
                                [&box](const Progress& progress) {
                                  const std::lock_guard lock(box->mutex);
                                  box->progress = progress;
                                },
                                work.keep_memory};
      Message outcome = outcome_of(run_cell, work, context);
      const std::lock_guard lock(box->mutex);
      box->outcome = std::move(outcome);
      box->changed.notify_one();
    });
  }

  sweep::Attempt attempt() const { return attempt_; }
  void request_stop() { thread_.request_stop(); }
  std::optional<Message> wait_for_outcome(Nanos longest) {
    std::unique_lock lock(box_->mutex);
    box_->changed.wait_for(lock, longest, [this] { return box_->outcome.has_value(); });
    return std::exchange(box_->outcome, std::nullopt);
  }
  std::optional<Heartbeat> heartbeat(Nanos now, Nanos period) {
    if (now - last_heartbeat_ < period) return std::nullopt;
    last_heartbeat_ = now;
    const std::lock_guard lock(box_->mutex);
    return Heartbeat{attempt_, box_->progress};
  }
  void leave_behind() { thread_.detach(); }

 private:
  sweep::Attempt attempt_;
  Nanos last_heartbeat_;
  std::shared_ptr<Mailbox> box_ = std::make_shared<Mailbox>();
  std::jthread thread_;
};

class Worker {
 public:
  Worker(Channel& channel, engine::Clock& clock, const RunCell& run_cell,
         const WorkerOptions& options)
      : channel_(channel), clock_(clock), run_cell_(run_cell), options_(options) {}

  WorkerEnd serve(const Hello& hello) {
    tell(hello);
    while (!leaving()) {
      while (std::optional<Received> received = channel_.poll())
        std::visit(*this, received->message);
      if (run_) {
        watch();
      } else if (!stopping_since_) {
        channel_.wait(options_.poll);
      }
    }
    return leave();
  }

  void operator()(const Assign& work) {
    if (run_)
      throw ProtocolError("cell " + std::to_string(work.attempt.cell) +
                          " was assigned to a worker that runs cell " +
                          std::to_string(run_->attempt().cell));
    if (stopping_since_) return;
    run_.emplace(run_cell_, work, clock_.now());
  }
  void operator()(const Abandon& abandon) {
    // Otherwise the request crossed the message that the cell had ended.
    if (run_ && run_->attempt() == abandon.attempt) run_->request_stop();
  }
  void operator()(const Stop&) {
    stopping_since_ = clock_.now();
    if (run_) run_->request_stop();
  }
  template <class Other>
  void operator()(const Other& message) {
    throw ProtocolError("a worker received a message of kind " + std::to_string(tag_of(message)) +
                        ", which only workers send");
  }

 private:
  void tell(const Message& message) { channel_.send(options_.driver, message); }

  void watch() {
    if (const auto outcome = run_->wait_for_outcome(options_.poll)) {
      run_.reset();
      report(*outcome);
    } else if (const auto heartbeat = run_->heartbeat(clock_.now(), options_.heartbeat)) {
      tell(*heartbeat);
    }
  }

  void report(const Message& outcome) {
    try {
      tell(outcome);
    } catch (const ProtocolError& error) {  // the result is too large to send
      const auto& done = std::get<Done>(outcome);
      tell(Failed{.attempt = done.attempt, .reason = error.what()});
    }
  }

  bool leaving() const {
    if (!stopping_since_) return false;
    return !run_ || clock_.now() - *stopping_since_ > options_.stop_grace;
  }

  WorkerEnd leave() {
    const bool stuck = run_.has_value();
    tell(Goodbye{stuck});
    channel_.flush(options_.stop_grace);
    if (stuck) run_->leave_behind();
    return stuck ? WorkerEnd::stuck : WorkerEnd::stopped;
  }

  Channel& channel_;
  engine::Clock& clock_;
  const RunCell& run_cell_;
  const WorkerOptions& options_;
  std::optional<CellRun> run_;
  std::optional<Nanos> stopping_since_;
};

}  // namespace

WorkerEnd run_worker(Channel& channel, engine::Clock& clock, const Hello& hello,
                     const RunCell& run_cell, const WorkerOptions& options) {
  return Worker(channel, clock, run_cell, options).serve(hello);
}

}  // namespace worker
