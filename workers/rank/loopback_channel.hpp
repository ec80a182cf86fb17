#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "workers/rank/channel.hpp"

namespace worker {

/// Channels between ends in one process: for a process that drives and works alone, and for tests.
/// Each end belongs to one thread. The hub must outlive the use of its ends.
class LoopbackHub {
 public:
  explicit LoopbackHub(int ends);
  ~LoopbackHub();
  LoopbackHub(const LoopbackHub&) = delete;
  LoopbackHub& operator=(const LoopbackHub&) = delete;
  Channel& end(int number);

 private:
  struct Inbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Received> messages;
  };
  class End;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace worker
