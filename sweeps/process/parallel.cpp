#include "sweeps/process/parallel.hpp"

#include <atomic>
#include <future>
#include <system_error>
#include <vector>

namespace sweep {

void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
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
