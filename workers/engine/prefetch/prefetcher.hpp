#pragma once
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/base/fading_mean.hpp"
#include "workers/engine/cache/host_store.hpp"
#include "workers/engine/prefetch/jobs.hpp"
#include "workers/engine/prefetch/policy.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/tier_events.hpp"

namespace engine {

/// Loads the KV of jobs with a running tool back from the host just in time. Also decides which GPU
/// and host copies are evicted in the meantime: the tail of the KV that will be wanted last.
///
/// A load is planned for the latest time at which it can still complete before the turn is expected
/// to be served. Until then nothing is copied, and cached blocks stay on the GPU until they are
/// allocated again. Loaded blocks are held until the turn uses them or is overdue, or until nothing
/// else could run; then they are evicted. A turn that arrives before its KV waits for the rest of
/// the same load, which then precedes all loads that no turn waits for.
class Prefetcher final : public EvictionOrder {
 public:
  /// All borrowed. Becomes the cache's eviction order.
  Prefetcher(PrefetchPolicy& policy, KvCache& kv, HostStore& host, TransferQueue& transfers,
             TierEvents& events);

  // Events of a job.
  void on_arrival(const Request& request, Nanos now);
  /// True when a prefetch of the request's KV, whose contents are numbered, is in flight.
  bool waits_for_fetch(Request& request, int gpu_tokens, Nanos now);
  /// Whether the wait for earlier loads, on the link and `queued` blocks more, is longer than a
  /// recomputation.
  bool better_recomputed(int gpu_tokens, int host_tokens, int queued) const;
  /// The request has got blocks of its own.
  void on_served(const Request& request, Nanos now);
  /// Called before the turn, whose contents are numbered, releases its blocks.
  void on_turn_finish(const Request& request, Nanos now);

  // Events of a step.
  /// Before scheduling: ends holds that have expired.
  void expire(Nanos now);
  /// After scheduling: issues loads that are due.
  void plan(const StepPlan& plan, Nanos now);
  /// True when the transfer is a prefetch.
  bool on_transfer_done(const TransferDone& done, Nanos now);
  /// When plan() must run even if nothing else happens.
  Nanos wakeup() const { return wakeup_; }

  bool release_prefetched(KvReason pressure, Nanos now);
  int kept(BlockId block) const { return kept_[index(block)]; }

  void before_eviction(int count) override;
  /// Makes room in the host tier for that many blocks of this turn, as far as other content is
  /// worth less. Returns for how many.
  int make_host_room(const TurnRef& of, int blocks, Nanos now);

 private:
  struct Candidate {
    PausedJob* job;
    Nanos use_at;
    Nanos load_time;
    double density;  // worth per missing token
    bool at_once;    // not as late as it can be: the link is idle, or the policy says so
  };
  /// Order of eviction: blocks with a copy on the host first, then the job that will be served
  /// last, then the job that paused first.
  struct Victim {
    bool on_host;
    Nanos use_at;
    std::size_t place;
    PausedJob* job;
  };
  PausedJob& job_of(JobId id);
  void begin_phase(PausedJob& job, JobPhase phase);
  void end_gap(PausedJob& job, Nanos now);
  void drop(PausedJob& job, KvReason reason);
  void release(PausedJob& job);
  void end_stale(PausedJob& job);
  int shared_blocks(const PausedJob& job) const;
  Victim victim_of(PausedJob& job, std::size_t place);
  void rank_victims();
  bool may_evict(const PausedJob& job) const;
  std::optional<Victim> next_victim();
  void put_back(const Victim& victim);

  // Estimates.
  void observe(const StepPlan& plan, Nanos now);
  Nanos earliest_use(PausedJob& job, Nanos now);
  Nanos ready_by(const PausedJob& job, int missing, Nanos now) const;
  Scarcity scarcity() const;
  double value_per_second(PausedJob& job, Nanos now);
  PausedJob* least_valuable_on_host(Nanos now);
  void trim_host(PausedJob& job, int count);

  // Loads.
  std::optional<Candidate> candidate(PausedJob& job, Nanos now);
  std::optional<Candidate> weigh(PausedJob& job, int missing, Nanos use_at, Nanos now);
  bool begin(const Candidate& candidate, Nanos now);
  int room_for(const PausedJob& job, Nanos now);
  void refuse(PausedJob& job, KvReason reason, int blocks, Nanos deadline);
  void submit(const Candidate& candidate, Request& turn, std::span<const BlockId> hits, Nanos now);
  void take_over(PausedJob& job, const TransferDone& done, Nanos now);

  PrefetchPolicy& policy_;
  KvCache& kv_;
  bool on_host(ContentId content) const {
    const HostEntry* const known = host_.find(content);
    return known != nullptr && known->readable();
  }

  HostStore& host_;
  TransferQueue& transfers_;
  TierEvents& events_;
  BlockWatch victims_;

  std::deque<PausedJob> jobs_;         // by id; stable addresses
  std::vector<std::uint32_t> paused_;  // away or back
  std::vector<std::uint32_t> ended_;   // ended jobs with KV that is not yet marked for eviction
  std::vector<std::int32_t> kept_;     // by block
  std::vector<Candidate> due_;
  std::vector<BlockId> hits_;
  std::vector<Victim> ranking_;  // heap; jobs with nothing left to evict are skipped
  std::vector<Victim> passed_over_;
  bool ranked_ = false;  // ranking_ matches the state of jobs and host tier
  Nanos now_{0};
  Nanos wakeup_ = Nanos::max();

  // Observations that estimates are based on.
  FadingMean step_s_, wait_s_, gap_s_, blocked_, wanted_tokens_;
  Nanos last_step_{-1};
  int running_ = 0;
  PausedJob* least_ = nullptr;  // least valuable job on the host, as of `least_at_`
  Nanos least_at_{-1};
  double host_price_ = 0;  // what the host's least valuable content saves, per token and second
};

}  // namespace engine
