#include "sweeps/files/parallel.hpp"

#include <atomic>
#include <exception>
#include <system_error>

namespace sweep {

/// The calls of one share(), each made once.
class Crew::Calls {
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

Crew::Crew(int threads) {
  try {
    for (int i = 1; i < threads; ++i)
      others_.emplace_back([this](const std::stop_token& stop) { help(stop); });
  } catch (const std::system_error&) {
    // With fewer threads, each does more.
  }
}

void Crew::share(std::size_t count, const std::function<void(std::size_t)>& work) {
  Calls calls(count, work);
  if (count > 1 && !others_.empty()) {
    {
      const std::lock_guard lock(mutex_);
      calls_ = &calls;
      ++shares_;
    }
    called_.notify_all();
  }
  calls.take();
  std::unique_lock lock(mutex_);
  calls_ = nullptr;  // a thread that has not begun yet has nothing left to do
  done_.wait(lock, [this] { return helping_ == 0; });
  calls.rethrow();
}

void Crew::help(const std::stop_token& stop) {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  while (called_.wait(lock, stop, [&] { return calls_ != nullptr && shares_ != seen; })) {
    seen = shares_;
    Calls& calls = *calls_;
    ++helping_;
    lock.unlock();
    calls.take();
    lock.lock();
    if (--helping_ == 0) done_.notify_one();
  }
}

void in_parallel(std::size_t count, Crew* crew, const std::function<void(std::size_t)>& work) {
  if (crew != nullptr) return crew->share(count, work);
  for (std::size_t i = 0; i < count; ++i) work(i);
}

}  // namespace sweep
