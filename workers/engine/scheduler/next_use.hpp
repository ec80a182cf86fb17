#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "workers/engine/cache/block_watch.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/return_forecast.hpp"

namespace engine {

/// Evicts the KV that is used last. First what no job uses again; then, from the end of its
/// context, that of the job whose next turn is expected last; then that of waiting turns, the one
/// served last first. A block of several jobs is used when the first of them is.
///
/// Ranks the jobs without a running turn once in a step that evicts, O(n log n) in their number,
/// and takes O(log n) a block from then on.
class NextUse final : public EvictionOrder {
 public:
  /// All borrowed. Becomes the cache's eviction order.
  NextUse(KvCache& kv, const QueueOrder& order, ReturnForecast& forecast);
  NextUse(const NextUse&) = delete;

  void begin_step(Nanos now) override;
  void on_arrival(const Request& request) override;
  void on_admitted(const Request& request) override;
  void on_preempted(const Request& request) override;
  void on_turn_finish(const Request& request, Nanos now) override;
  void on_aborted(const Request& request) override;

  void before_eviction(int count) override;

 private:
  struct Job : WatchedKv {
    bool away = false;        // its tool runs; otherwise a turn waits
    std::uint32_t place = 0;  // of that turn in the order of service
  };
  /// A job in the order of eviction; the greatest goes first.
  struct Victim {
    bool away;
    Nanos returns;  // away: when its next turn is expected
    std::uint32_t place;
    std::uint32_t job;
    bool operator<(const Victim& other) const;
  };
  Job& job_of(JobId id);
  void watch(Job& job, const Request& request, bool away);
  void unwatch(Job& job);
  int evicted_without_us(int count) const;
  void give_up_ended(int count);
  void rank();

  KvCache& kv_;
  const QueueOrder& order_;
  ReturnForecast& forecast_;
  BlockWatch blocks_;
  std::vector<Job> jobs_;               // by id
  std::vector<std::uint32_t> watched_;  // jobs with KV that may be evicted
  std::deque<ContentId> ended_;         // of jobs that are over, the last block of each first
  std::vector<Victim> ranking_;         // heap
  std::vector<Victim> passed_over_;
  bool ranked_ = false;
  Nanos now_{0};
};

}  // namespace engine
