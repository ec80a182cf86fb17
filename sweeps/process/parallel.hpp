#pragma once
#include <atomic>
#include <cstddef>
#include <future>
#include <system_error>
#include <vector>

namespace sweep {

/// Calls work(0) to work(count - 1) on this thread and up to `threads` - 1 others. Returns when all
/// calls have ended; throws what one of them threw, and then may have left out some.
template <class Work>
void in_parallel(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    try {
      for (std::size_t i; (i = next++) < count;) work(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> others;  // which their destructors wait for
  try {
    for (std::size_t i = 1; i < count && i < static_cast<std::size_t>(threads); ++i)
      others.push_back(std::async(std::launch::async, take));
  } catch (const std::system_error&) {
    // With fewer threads, each does more.
  }
  take();
  for (std::future<void>& other : others) other.get();
}

}  // namespace sweep
