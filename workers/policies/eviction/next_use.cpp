// Evicts the KV that is used last. First what no job uses again; then, from the end of its context,
// that of the job whose next turn is expected last; then that of waiting turns, the one served last
// first. A block of several jobs is used when the first of them is. The oracle knows how long tools
// run: Belady's rule on the jobs' contexts, as far as the queue is known.
//
// Ranks the jobs without a running turn once in a step that evicts, O(n log n) in their number, and
// takes O(log n) a block from then on.
#include <algorithm>
#include <deque>
#include <functional>
#include <limits>

#include "workers/engine/cache/block_watch.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/estimators/tool_calls.hpp"
#include "workers/policies/eviction/config.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::ContentId;
using engine::JobId;
using engine::Nanos;
using engine::Request;

class NextUse final : public engine::EvictionOrder {
 public:
  NextUse(engine::KvCache& kv, const engine::QueueOrder& order, const EstimatorConfig& estimator)
      : kv_(kv), order_(order), calls_(make_estimator(estimator)), blocks_(kv) {}

  void begin_step(Nanos now) override {
    now_ = now;
    ranked_ = false;
  }
  void on_arrival(const Request& request) override {
    calls_.on_arrival(request);
    job_of(request.spec.job).away = false;
  }
  void on_admitted(const Request& request) override { unwatch(job_of(request.spec.job)); }
  void on_preempted(const Request& request) override {
    watch(job_of(request.spec.job), request, false);
  }
  void on_turn_finish(const Request& request, Nanos now) override {
    Job& job = job_of(request.spec.job);
    watch(job, request, true);
    if (!request.spec.last_turn) {
      calls_.start(request, now);
      return;
    }
    ended_.insert(ended_.end(), job.contents.rbegin(), job.contents.rend());
    unwatch(job);
  }
  void on_aborted(const Request& request) override { unwatch(job_of(request.spec.job)); }
  void before_eviction(int count) override {
    give_up_ended(count);
    count -= evicted_without_us(count);
    if (count > 0 && !ranked_) rank();
    while (count > 0 && !ranking_.empty()) {
      std::ranges::pop_heap(ranking_, std::less{});
      const Victim victim = ranking_.back();
      ranking_.pop_back();
      Job& job = jobs_[victim.job];
      blocks_.refresh(job);
      if (job.cached.empty()) continue;
      const int trimmed = blocks_.trim(job, count);
      count -= trimmed;
      // Where nothing was trimmed, a request or a pin has all that is left.
      if (trimmed == 0) {
        passed_over_.push_back(victim);
      } else {
        ranking_.push_back(victim);
        std::ranges::push_heap(ranking_, std::less{});
      }
    }
    for (const Victim& victim : passed_over_) {
      ranking_.push_back(victim);
      std::ranges::push_heap(ranking_, std::less{});
    }
    passed_over_.clear();
  }

 private:
  struct Job : engine::WatchedKv {
    bool away = false;        // its tool runs; otherwise a turn waits
    std::uint32_t place = 0;  // of that turn in the order of service
  };
  using Victim = NextUseOfJob;
  Job& job_of(JobId id) {
    if (index(id) >= jobs_.size()) jobs_.resize(index(id) + 1);
    return jobs_[index(id)];
  }
  void watch(Job& job, const Request& request, bool away) {
    unwatch(job);
    job.away = away;
    // Blocks with a token that is in flight are not registered yet.
    const int known = std::min(request.num_computed_tokens, request.num_tokens());
    const auto full =
        std::min(static_cast<std::size_t>(known / kv_.block_size()), request.contents.size());
    if (full == 0) return;
    job.contents.assign(request.contents.begin(),
                        request.contents.begin() + static_cast<std::ptrdiff_t>(full));
    blocks_.watch(job, request);
    watched_.push_back(index(request.spec.job));
    ranked_ = false;
  }
  void unwatch(Job& job) {
    if (job.contents.empty()) return;
    blocks_.unwatch(job);
    job.contents.clear();
    std::erase(watched_, static_cast<std::uint32_t>(&job - jobs_.data()));
  }
  /// The evictions among the next `count` that come before the first block of a watched job.
  int evicted_without_us(int count) const {
    int evicted = 0;
    for (BlockId block = kv_.pool().free_head(); block != BlockId{0} && evicted < count;
         block = kv_.pool().next_free(block)) {
      if (!kv_.prefix_cache().contains(block)) continue;
      if (blocks_.watched(block)) break;
      ++evicted;
    }
    return evicted;
  }
  /// Up to `count` blocks of jobs that are over become the next to be evicted.
  void give_up_ended(int count) {
    for (; count > 0 && !ended_.empty(); ended_.pop_front())
      count -= blocks_.give_up(ended_.front()) ? 1 : 0;
  }
  void rank() {
    // A turn that the order does not show is held back: it runs after all that it shows.
    for (const std::uint32_t id : watched_)
      jobs_[id].place = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t place = 0;
    for (const Request* waiting : order_.in_service_order())
      job_of(waiting->spec.job).place = place++;
    ranking_.clear();
    for (const std::uint32_t id : watched_) {
      const Job& job = jobs_[id];
      const Nanos returns = job.away ? calls_.returns_by(JobId{id}, 0.5, now_) : Nanos{0};
      ranking_.push_back({job.away, returns, job.away ? id : job.place, id});
    }
    std::ranges::make_heap(ranking_, std::less{});
    ranked_ = true;
  }

  engine::KvCache& kv_;
  const engine::QueueOrder& order_;
  ToolCalls calls_;
  engine::BlockWatch blocks_;
  std::vector<Job> jobs_;               // by id
  std::vector<std::uint32_t> watched_;  // jobs with KV that may be evicted
  std::deque<ContentId> ended_;         // of jobs that are over, the last block of each first
  std::vector<Victim> ranking_;         // heap
  std::vector<Victim> passed_over_;
  bool ranked_ = false;
  Nanos now_{0};
};

/// A maker of the order by this estimator.
engine::EvictionOrderMaker maker(const EstimatorConfig& estimator) {
  return [estimator](engine::KvCache& kv, const engine::QueueOrder& order) {
    return std::make_unique<NextUse>(kv, order, estimator);
  };
}

}  // namespace

engine::EvictionOrderMaker make_next_use_order(EstimatorConfig estimator) {
  return maker(estimator);
}

engine::EvictionOrderMaker make_oracle_order(EstimatorConfig estimator) {
  estimator.name = "oracle";
  return maker(estimator);
}

}  // namespace policies
