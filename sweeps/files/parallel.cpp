#include "sweeps/files/parallel.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sweep {

void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take = [&]() noexcept {
    try {
      for (std::size_t i; (i = next++) < count;) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < count && i < static_cast<std::size_t>(threads); ++i)
        others.emplace_back(take);
    } catch (const std::system_error&) {
      // With fewer threads, each does more.
    }
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sweep
