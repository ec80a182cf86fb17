#pragma once
#include <time.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/rank/protocol.hpp"

namespace worker {

/// A message could not be sent or received. `peer` is the other end, -1 when unknown.
struct ChannelError : std::runtime_error {
  ChannelError(int peer, const std::string& message) : std::runtime_error(message), peer(peer) {}
  int peer;
};

struct Received {
  int from;
  Message message;
};

/// An end whose process has ended.
struct GoneEnd {
  int number;
  bool crashed = false;  // a signal such as SEGV, which its own code raised
  int signal = 0;        // that killed it, where it is known
  int successor = 0;     // the end of the process that takes its place; 0: none does
};

/// Messages between numbered ends, in order for each pair. Each end is used by one thread.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Queues the message and returns at once. Throws ChannelError, ProtocolError.
  virtual void send(int to, const Message& message) = 0;
  /// The next message that has arrived; never waits. Throws ChannelError, ProtocolError.
  virtual std::optional<Received> poll() = 0;
  /// Sleeps until a message may have arrived, at most `longest`. A signal ends the sleep.
  virtual void wait(engine::Nanos longest) = 0;
  /// Waits until all sent messages have left, at most `longest`. Returns whether they have.
  virtual bool flush(engine::Nanos longest) = 0;
  /// Ends that are known to have gone for good since the last call. Each is named once, after the
  /// last message from it was polled.
  virtual std::vector<GoneEnd> gone() { return {}; }
};

/// A channel whose messages arrive in pieces.
class BufferedChannel : public Channel {
 public:
  std::optional<Received> poll() override {
    if (ready_.empty()) exchange();
    if (ready_.empty()) return std::nullopt;
    Received first = std::move(ready_.front());
    ready_.pop_front();
    return first;
  }

 protected:
  /// Sends and receives what can be at once.
  virtual void exchange() = 0;

  std::deque<Received> ready_;  // arrived, and not polled
};

inline timespec span_of(engine::Nanos duration) {
  const auto ns = std::max(engine::Nanos{0}, duration).count();
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

/// Sleeps between looks at a channel that does not wake its thread: longer while nothing happens,
/// so that a message comes late by at most a ninth of the whole wait.
class Pause {
 public:
  Pause(engine::Nanos shortest, engine::Nanos longest) : shortest_(shortest), longest_(longest) {}
  void restart() { next_ = shortest_; }
  /// At most so long. Unlike std::this_thread::sleep_for, a signal ends it.
  void sleep(engine::Nanos most) {
    const timespec span = span_of(std::min(most, next_));
    ::nanosleep(&span, nullptr);
    next_ = std::min(next_ + next_ / 8, longest_);
  }

 private:
  engine::Nanos shortest_, longest_, next_ = shortest_;
};

/// The position of a process among those of the job.
struct WorldPlace {
  int rank = 0;
  int size = 1;
  int local_worker = 0;  // index among the workers (all but rank 0) of its node; rank 0: -1
};

/// The channel between the ranks of an MPI job; what it does needs mpi.h, and this header does not.
class MpiChannel : public BufferedChannel {
 public:
  virtual const WorldPlace& place() const = 0;
};

/// Initializes MPI, once in a process, and opens it; the destructor finalizes MPI. Both are
/// collective, and one thread does all. In between everything is point to point and never blocks on
/// a peer, so a dead peer harms no other. Open MPI looks for fast networks when it starts, which
/// takes 0.2 s: ranks that are all on one host need none.
///
/// A message is sent in pieces of at most 16 MiB (MPI counts are int), all with the tag of its
/// kind. Between messages the channel sleeps for 1 ms, growing to 50 ms.
std::unique_ptr<MpiChannel> join_world(bool on_one_host);

/// Ends every process of the MPI job, including hung or stopped ones, with this exit code.
[[noreturn]] void abort_job(int exit_code);

}  // namespace worker
