#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sweep {

/// Threads that help the one that made them. They wait between calls, since a thread takes longer
/// to start than a chunk to pack.
class Crew {
 public:
  /// Starts at most `threads` - 1 threads; the calling thread is one of the crew.
  explicit Crew(int threads);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Threads, the calling one among them.
  std::size_t size() const { return others_.size() + 1; }
  /// Calls work(0) to work(count - 1). Returns when all calls have ended; throws what one of them
  /// threw, and then may have left out some.
  void share(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  class Calls;
  void help(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any called_, done_;
  Calls* calls_ = nullptr;            // of the share() in progress
  std::size_t shares_ = 0;            // that have begun
  std::size_t helping_ = 0;           // other threads
  std::vector<std::jthread> others_;  // last: stopped and joined while the rest is there
};

/// The same with the threads of a crew; null: with this thread alone.
void in_parallel(std::size_t count, Crew* crew, const std::function<void(std::size_t)>& work);

}  // namespace sweep
