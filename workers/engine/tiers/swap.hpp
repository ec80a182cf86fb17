#pragma once
#include <vector>

#include "workers/engine/step/compute_rates.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/tier_events.hpp"
#include "workers/engine/tiers/config.hpp"

namespace engine {

/// Durations of copying KV and of recomputing it, estimated from the steps seen.
class SwapRates : public ComputeRates {
 public:
  /// Records a copy of this many blocks in one direction, for which all requests waited.
  void copied(int blocks, Nanos took) { copies_.add(blocks, to_seconds(took)); }

  /// Whether swapping `blocks` out, behind `queued` others on the link, and in again takes less
  /// time than recomputing `tokens`. True until a copy has been seen, so that the first one is
  /// measured.
  bool swap_is_cheaper(int blocks, int queued, int tokens) const {
    if (!copies_.known() || !knows_prompts()) return true;
    return copies_.at(queued + blocks) + copies_.at(blocks) < prompt_s(tokens);
  }

 private:
  FadingLine copies_;
};

/// A host tier for the KV of preempted requests, as vLLM 0.4.2's swap space. Blocks are swapped out
/// before the preempting step is executed, and swapped in before the step that resumes the request;
/// all requests of the step wait. A request is swapped out whole, or is recomputed; with
/// swap_partially its first blocks are swapped out as far as there is space. A request suspended
/// block by block has its last blocks here and its first ones on the GPU.
///
/// The space also keeps finished turns while their tools run, when the retention policy asks for
/// it. The job's next turn hits them as far as its tokens are the same, and then they are dropped.
class SwapTier final : public HostTier, public SwapSpace {
 public:
  SwapTier(const TierConfig& config, KvCache& kv, BlockCopier& copier,
           std::vector<KvEvent>& events);

  HostHit find(Request& request, int gpu_tokens) override;
  void load(Request& request, int gpu_blocks, int num_blocks) override;
  void forget(Request& request, Nanos now) override;
  bool keep_preempted(Request& request) override;
  bool keep_tail(Request& request) override;
  bool keep_finished(Request& request) override;

  std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) override;
  void after_execution(const StepPlan& plan, Clock& clock) override;

  bool blocking() const override { return true; }
  TransferStats take_stats() override { return transfers_.take_stats(); }
  HostUsage usage() const override;
  SwapSpace* swap_space() override { return this; }

 private:
  struct Swapped {
    const Request* request = nullptr;  // null: a finished turn in its gap
    JobId job{};
    int tokens = 0;                   // of the request, up to the end of the slots
    int first_block = 0;              // the blocks before it stayed on the GPU
    std::vector<HostSlot> slots{};    // for its blocks from first_block on
    std::vector<BlockHash> hashes{};  // hashes of its blocks, for a finished turn in its gap
    HostSlot slot_of(int block) const {
      return slots[static_cast<std::size_t>(block - first_block)];
    }
  };
  struct Load {
    TransferId id;
    Request* request;
    int gpu_blocks;
    std::vector<BlockCopy> copies;
  };
  using Entry = std::vector<Swapped>::iterator;
  Entry entry_of(const Request& request);
  Entry gap_of(JobId job);
  int known_tokens(const Swapped& gap, const Request& request) const;
  HostSlot store(BlockId block);
  void store_first(Swapped& entry, const Request& request, int count);
  void release(Entry entry);
  void copy_out(Clock& clock);
  void end_load(const Load& load, const TransferDone& done);

  TierConfig config_;
  KvCache& kv_;
  TransferQueue transfers_;
  TierEvents events_;
  SwapRates rates_;
  Nanos ready_{0};  // start of the step's execution
  std::vector<HostSlot> free_;
  std::vector<Swapped> swapped_;
  std::vector<BlockCopy> going_out_;
  std::vector<Load> loads_;
  std::vector<LoadedKv> failed_;
};

}  // namespace engine
