#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "workers/engine/cache/host_store.hpp"
#include "workers/engine/prefetch/prefetcher.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/tier_events.hpp"
#include "workers/engine/tiers/config.hpp"
#include "workers/engine/tiers/disk.hpp"

namespace engine {

/// A host tier in KV blocks as vLLM's OffloadingConnector. Each step decides what its requests
/// store, their blocks of this step included; the copies start with the next step. Sources are not
/// held: where they are given out again, the step waits for the copy. What a request reads waits
/// for what is being written or loaded, and others are served meanwhile.
///
/// A disk may stand behind it (DiskTier), on the virtual clock. vLLM has no prefetch. With it,
/// blocks are also given out after the step is decided, and stores hold their sources.
class ConnectorTier final : public HostTier, public Connector {
 public:
  ConnectorTier(const TierConfig& config, int max_step_tokens, KvCache& kv, BlockCopier& copier,
                std::vector<KvEvent>& events);

  HostHit find(Request& request, int gpu_tokens) override;
  void load(Request& request, int gpu_blocks, int num_blocks) override;
  void forget(Request&, Nanos) override {}
  void on_arrival(const Request& request, Nanos now) override;
  void on_aborted(Request& request, Nanos now) override;
  void on_turn_finish(Request& request, Nanos now) override;
  void on_scheduled(const StepPlan& plan, Nanos now) override;

  /// Submits the stores of earlier steps, and waits for those that the step must not overtake.
  std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) override;
  /// Submits the loads of the step.
  void after_execution(const StepPlan& plan, Clock& clock) override;
  void observe(Nanos now) override;
  std::span<const LoadedKv> make_known() override;
  /// A synchronous engine knows at once.
  std::span<const LoadedKv> poll(Nanos now) override;

  bool busy() const override;
  void wait(Clock& clock, Nanos until) override;
  Connector* connector() override { return this; }
  Nanos wakeup() const override { return prefetcher_ ? prefetcher_->wakeup() : Nanos::max(); }
  bool release_prefetched(KvReason pressure, Nanos now) override {
    return prefetcher_ && prefetcher_->release_prefetched(pressure, now);
  }
  int kept(BlockId block) const override { return prefetcher_ ? prefetcher_->kept(block) : 0; }
  TransferStats take_stats() override { return transfers_.take_stats(); }
  HostUsage usage() const override { return {host_.num_used(), host_.num_slots()}; }

  struct Job;
  // The step scheduled last, for checks.
  std::uint64_t last_step() const { return step_ - 1; }
  const std::deque<std::unique_ptr<Job>>& jobs() const { return jobs_; }
  std::span<const RequestId> failed_stores() const { return failed_stores_; }
  std::span<const HostSlot> evicted() const { return evicted_; }
  /// The observed transfers, oldest first.
  const std::deque<std::vector<TransferDone>>& observed() const { return observed_; }
  const HostStore& host() const { return host_; }

 private:
  struct Client;
  Client& client_of(Request& request);
  Client& new_client();
  Job& new_job(Client& client, CopyDirection direction, int first);
  void end(Request& request, int tokens);
  void store(Client& client, std::span<const ContentId> contents, std::span<const BlockId> blocks,
             int tokens, Nanos now);
  void store_next_evicted();
  void record_evicted(const Client& client);
  int end_of_stored(const Client& client, std::span<const BlockId> blocks, int tokens) const;
  int storable(const Client& client, std::span<const ContentId> offered, Nanos now);
  void mark_allocated(std::span<const BlockId> blocks);
  void end_job(Job& job, const TransferDone& done);
  void release(Client& client);

  TierConfig config_;
  int scan_limit_;  // lazy: free blocks that a step considers
  KvCache& kv_;
  HostStore host_;
  TransferQueue transfers_;
  TierEvents events_;
  std::optional<Prefetcher> prefetcher_;
  std::optional<DiskTier> disk_;
  std::deque<Client> clients_;  // stable addresses
  std::vector<Client*> unused_;
  std::vector<Client*> ended_;             // since the last step, in that order
  std::deque<std::unique_ptr<Job>> jobs_;  // not known to be done, in order of creation
  std::vector<std::uint64_t> allocated_;   // by block: the last step that gave it out
  std::deque<std::vector<TransferDone>> observed_;
  std::vector<LoadedKv> loaded_;
  std::vector<RequestId> failed_stores_;
  std::vector<HostSlot> evicted_;
  Nanos now_{0};            // of the last step
  std::uint64_t step_ = 1;  // being scheduled
  int num_jobs_ = 0;
};

/// One request as the tier sees it, until its copies are done.
struct ConnectorTier::Client {
  RequestId id{};
  TurnRef turn{};
  int num_prompt = 0;
  int cursor = 0;  // blocks before this one have been offered
  int table = 0;   // blocks at its last step
  int jobs = 0;    // not known to be done
  HostUse use{};
  // Since it has ended.
  bool ended = false, announced = false;
  KvReason reason = KvReason::tail;  // why it stores then
  int tokens = 0;                    // with KV
  std::vector<BlockId> blocks{};
  std::vector<ContentId> contents{};
};

struct ConnectorTier::Job {
  int number;
  Client* client;
  Request* request = nullptr;  // load: waits for it; null if it was aborted
  CopyDirection direction;
  std::uint64_t step;  // that decided it
  int first;           // load: position of its first block
  std::vector<BlockCopy> copies{};
  std::vector<BlockId> held{};  // of an aborted request, until the load is done
  bool flush = false;           // the step waits for it
  Nanos ready{0};               // store: when its slots are free
  TransferId id = TransferId::none;

  RequestId client_id() const { return client->id; }
};

}  // namespace engine
