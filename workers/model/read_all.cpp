#include "workers/model/weights.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace model {
namespace {

/// Largest first, so that threads wait least for the last read to finish.
std::vector<std::size_t> by_falling_size(const WeightLayout& layout) {
  std::vector<std::size_t> order(layout.parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return layout.parameters[a].elements() > layout.parameters[b].elements();
  });
  return order;
}

/// Distributes parameters to threads and keeps the first error.
class ReadQueue {
 public:
  ReadQueue(const WeightSource& source, const WeightLayout& layout, DType type,
            std::span<std::byte> out)
      : source_(source), layout_(layout), type_(type), out_(out), order_(by_falling_size(layout)) {}

  void work() {
    try {
      for (std::size_t i = next_++; i < order_.size(); i = next_++)
        read(layout_.parameters[order_[i]]);
    } catch (...) {
      next_ = order_.size();
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  /// Call after all threads have finished.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void read(const Parameter& parameter) const {
    const auto bytes = static_cast<std::size_t>(parameter.elements() * size_of(type_));
    source_.read(parameter, type_, out_.subspan(static_cast<std::size_t>(parameter.offset), bytes));
  }

  const WeightSource& source_;
  const WeightLayout& layout_;
  DType type_;
  std::span<std::byte> out_;
  std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void read_all(const WeightSource& source, const WeightLayout& layout, DType type,
              std::span<std::byte> out, int threads) {
  if (out.size() < static_cast<std::size_t>(layout.bytes))
    throw std::invalid_argument("the buffer for all weights is smaller than their layout");
  ReadQueue queue(source, layout, type, out);
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&queue] { queue.work(); });
    queue.work();
  }
  queue.rethrow();
}

}  // namespace model
