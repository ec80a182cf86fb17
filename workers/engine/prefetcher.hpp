#pragma once
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/fading_mean.hpp"
#include "workers/engine/host_tier.hpp"
#include "workers/engine/prefetch.hpp"
#include "workers/engine/prefetch_victims.hpp"
#include "workers/engine/tier_events.hpp"

namespace engine {

/// Brings KV of jobs whose tools run back from the host just in time, and decides whose GPU and
/// host copies are lost meanwhile: of those that will be wanted last, from the end.
///
/// A load is planned for the latest instant at which it still is there when the turn is expected to
/// be served. Until then nothing moves: what the GPU has cached stays until its blocks are wanted.
/// Loaded blocks are kept until the turn uses them or is overdue; all of them are evicted when
/// nothing else could run. A turn that arrives before its KV waits for the rest of the same load,
/// which then goes ahead of all loads without a waiting turn.
class Prefetcher final : public EvictionOrder {
 public:
  /// All borrowed. Becomes the cache's eviction order.
  Prefetcher(PrefetchPolicy& policy, KvCache& kv, HostPool& host, TransferQueue& transfers,
             TierEvents& events);

  // A job's life.
  void on_arrival(const Request& request, Nanos now);
  /// True when the request's KV is on its way, unasked: it waits for it and is reported by
  /// on_transfer_done().
  bool waits_for_fetch(Request& request, int gpu_tokens, Nanos now);
  /// Whether loading takes longer than computing again would: others wait before it on the link.
  bool better_recomputed(int gpu_tokens, int host_tokens) const;
  /// The request has blocks of its own now.
  void on_served(const Request& request, Nanos now);
  void forget(const Request& request);
  /// Before the turn releases its blocks.
  void on_turn_finish(const Request& request, Nanos now);

  // A step.
  /// Before scheduling: ends what has been kept too long.
  void expire(Nanos now);
  /// After scheduling: begins loads whose time has come.
  void plan(const StepPlan& plan, Nanos now);
  /// True when the transfer was begun here. Appends the request that waited for it, if any.
  bool on_transfer_done(const TransferDone& done, Nanos now, std::vector<LoadedKv>& loaded);
  /// When there is something to plan although nothing else happens.
  Nanos wakeup() const { return wakeup_; }

  /// Something that was loaded ahead of its turn loses its blocks. False when there is nothing.
  bool give_way(KvReason pressure, Nanos now);
  /// References to the block by what was loaded ahead of its turn.
  int kept(BlockId block) const { return kept_[index(block)]; }

  void before_eviction(int count) override;
  /// Makes place for content of this turn at the expense of content that is worth less. False when
  /// all that the host holds is worth more.
  bool make_host_room(const TurnRef& of, Nanos now);

 private:
  struct Candidate {
    PausedJob* job;
    Nanos use_at;
    Nanos load_time;
    double density;  // worth by missing token
    bool idle_link;  // loaded because the link has nothing else to do
  };
  /// The order of eviction: first blocks with a copy on the host, then the job that will be served
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
  bool may_give_up(const PausedJob& job) const;
  std::optional<Victim> next_victim();
  void put_back(const Victim& victim);

  // Estimates.
  void observe(const StepPlan& plan, Nanos now);
  Nanos hardly_used_before(PausedJob& job, Nanos now);
  Nanos ready_by(const PausedJob& job, int missing, Nanos now) const;
  Scarcity scarcity() const;
  double worth_by_time(PausedJob& job, Nanos now);
  PausedJob* least_worth_on_host(Nanos now);

  // Loads.
  Nanos arrival_of_loads(Nanos now) const;
  std::optional<Candidate> candidate(PausedJob& job, Nanos now);
  std::optional<Candidate> weigh(PausedJob& job, int missing, Nanos use_at, Nanos now);
  bool begin(const Candidate& candidate, Nanos now);
  int room_for(const PausedJob& job, Nanos now);
  void refuse(PausedJob& job, KvReason reason, int blocks, Nanos deadline);
  void submit(const Candidate& candidate, Request& turn, std::span<const BlockId> hits, Nanos now);
  void take_over(PausedJob& job, const TransferDone& done, Nanos now);

  PrefetchPolicy& policy_;
  KvCache& kv_;
  HostPool& host_;
  TransferQueue& transfers_;
  TierEvents& events_;
  PrefetchVictims victims_;

  std::deque<PausedJob> jobs_;         // by id; stable addresses
  std::vector<std::uint32_t> paused_;  // away or back
  std::vector<std::uint32_t> ended_;   // of no use any more, not yet given up
  std::vector<std::int32_t> kept_;     // by block
  std::vector<Candidate> due_;
  std::vector<BlockId> hits_;
  std::vector<Victim> ranking_;  // heap; jobs with nothing left to evict are skipped
  std::vector<Victim> passed_over_;
  bool ranked_ = false;  // as jobs and host are now
  Nanos now_{0};
  Nanos wakeup_ = Nanos::max();

  // What the future is estimated from.
  FadingMean step_s_, wait_s_, gap_s_, blocked_, wanted_tokens_;
  Nanos last_step_{-1};
  int running_ = 0;
  PausedJob* least_ = nullptr;  // on the host, as of `least_at_`
  Nanos least_at_{-1};
  double host_price_ = 0;  // what the host's least valuable content saves, by token and second
};

}  // namespace engine
