#include "sweeps/files/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sweep {

namespace {

/// The calls of one in_parallel(), each made once.
class Calls {
 public:
  Calls(std::size_t count, const std::function<void(std::size_t)>& work)
      : count_(count), work_(work) {}

  void take() noexcept {
    try {
      for (std::size_t i; (i = next_.fetch_add(1)) < count_;) work_(i);
    } catch (...) {
      next_ = count_;
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  Calls calls(count, work);
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min(count, static_cast<std::size_t>(std::max(threads, 1)));
           ++i)
        others.emplace_back([&calls] { calls.take(); });
    } catch (const std::system_error&) {
      // With fewer threads, the others do more.
    }
    calls.take();
  }
  calls.rethrow();
}

}  // namespace sweep
