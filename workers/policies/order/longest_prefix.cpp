// Among the first turns in the queue those with the longest prefix in the cache on the GPU go first
// (SGLang's LPM within a window, as vllm#54625). A turn that has waited longer than the age limit
// precedes them. Otherwise first come, first served; of equal prefixes a preempted
// request comes first, and the victim is the running request that was admitted last.
#include <algorithm>
#include <tuple>
#include <vector>

#include "workers/policies/order/arrival_queue.hpp"
#include "workers/policies/order/config.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;

constexpr Parameter kWindow = {
    .name = "prefix_window",
    .least = 1,
    .most = 2147483647,
    .fallback = 16,
    .is_whole = true,
    .unit = "turns",
    .says = "How many turns at the head of the queue are ordered by their cached prefix."};
constexpr Parameter kAge = {
    .name = "prefix_age_s",
    .least = 0,
    .most = 1e6,
    .fallback = 60,
    .unit = "s",
    .says = "Turns that have waited this long precede those with a longer prefix."};

class LongestPrefix final : public ArrivalQueue {
 public:
  explicit LongestPrefix(const OrderConfig& config)
      : window_size_(static_cast<std::size_t>(value_of(kWindow, config.parameters))),
        most_age_(engine::from_seconds(value_of(kAge, config.parameters))),
        block_size_(config.block_size) {}

  void push_preempted(Request& request) override {
    ArrivalQueue::push_preempted(request);
    window_.insert(window_.begin(), &request);
  }
  Request* front() const override { return window_.empty() ? queue_.front() : window_.front(); }
  void remove(Request& request) override {
    ArrivalQueue::remove(request);
    std::erase(window_, &request);
  }

  std::vector<const Request*> in_service_order() const override {
    std::vector<const Request*> all(window_.begin(), window_.end());
    for (const Request* r = queue_.front(); r != nullptr; r = queue_.next(*r))
      if (std::ranges::find(window_, r) == window_.end()) all.push_back(r);
    return all;
  }

  void begin_step(Nanos now, const engine::PrefixCache& cache) override {
    struct Ranked {
      bool young;
      int blocks;
      Request* request;
    };
    std::vector<Ranked> ranked;
    for (Request* r = queue_.front(); r != nullptr && ranked.size() < window_size_;
         r = queue_.next(*r)) {
      const bool young = now - r->spec.arrival < most_age_;
      ranked.push_back({young, young ? cached_blocks(*r, cache) : 0, r});
    }
    std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
      return std::tuple(a.young, b.blocks) < std::tuple(b.young, a.blocks);
    });
    window_.clear();
    for (const Ranked& each : ranked) window_.push_back(each.request);
  }

 private:
  /// Leading full blocks of the prompt that are cached.
  int cached_blocks(const Request& request, const engine::PrefixCache& cache) const {
    int found = 0;
    engine::ContentId content{};
    while (found < (request.num_tokens() - 1) / block_size_ &&
           cache.find_next(content, request.block_hash(found)))
      ++found;
    return found;
  }

  std::size_t window_size_;
  Nanos most_age_;
  int block_size_;                // tokens
  std::vector<Request*> window_;  // of the queue, in the order of service; the rest follows
};

}  // namespace

OrderEntry longest_prefix_order() {
  return {"longest_prefix", OrderEntry::makes<LongestPrefix>, {kWindow, kAge}};
}

}  // namespace policies
