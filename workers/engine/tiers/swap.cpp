#include "workers/engine/tiers/swap.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace engine {
namespace {

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
  SwapTier(const TierConfig& config, KvCache& kv, BlockCopier& copier, std::vector<KvEvent>& events)
      : config_(config), kv_(kv), transfers_(config.transfers, copier), events_(events) {
    for (auto slot = static_cast<std::uint32_t>(config.host_blocks); slot > 0; --slot)
      free_.push_back(HostSlot{slot - 1});
  }

  HostHit find(Request& request, int gpu_tokens) override {
    const Entry entry = entry_of(request);
    int tokens = 0;
    if (entry != swapped_.end()) {
      tokens = entry->first_block * kv_.block_size() <= gpu_tokens ? entry->tokens : 0;
    } else if (const Entry gap = gap_of(request.spec.job); gap != swapped_.end()) {
      tokens = known_tokens(*gap, request);
    }
    if (tokens <= gpu_tokens) return {};
    return {.tokens = tokens - gpu_tokens};
  }
  void load(Request& request, int gpu_blocks, int num_blocks) override {
    Entry entry = entry_of(request);
    if (entry == swapped_.end()) entry = gap_of(request.spec.job);
    Load load{TransferId::none, &request, gpu_blocks, {}};
    for (int i = gpu_blocks; i < gpu_blocks + num_blocks; ++i) {
      const BlockId block = request.blocks[static_cast<std::size_t>(i)];
      kv_.begin_copy(block);
      load.copies.push_back({block, entry->slot_of(i)});
    }
    events_.add(KvEventKind::swap_in, KvReason::demand, turn_of(request), num_blocks);
    loads_.push_back(std::move(load));
  }
  void forget(Request& request, Nanos) override {
    if (const Entry entry = entry_of(request); entry != swapped_.end()) release(entry);
    if (const Entry gap = gap_of(request.spec.job); gap != swapped_.end()) release(gap);
  }
  bool keep_preempted(Request& request) override {
    const int wanted = kv_.blocks_for(request.num_computed_tokens);
    const int count = std::min(wanted, static_cast<int>(free_.size()));
    if (count == 0 || (count < wanted && !config_.swap_partially)) return false;
    if (config_.swap_if_cheaper &&
        !rates_.swap_is_cheaper(count, static_cast<int>(going_out_.size()),
                                request.num_computed_tokens))
      return false;
    Swapped entry{&request, request.spec.job, request.num_computed_tokens};
    store_first(entry, request, count);
    if (count < wanted) entry.tokens = count * kv_.block_size();
    swapped_.push_back(std::move(entry));
    events_.add(KvEventKind::swap_out, count < wanted ? KvReason::partial : KvReason::swapped_out,
                turn_of(request), count);
    return true;
  }
  bool keep_tail(Request& request) override {
    if (free_.empty()) return false;
    Entry entry = entry_of(request);
    if (entry == swapped_.end()) {
      swapped_.push_back({&request, request.spec.job, request.num_computed_tokens});
      entry = swapped_.end() - 1;
    }
    entry->slots.insert(entry->slots.begin(), store(request.blocks.back()));
    entry->first_block = static_cast<int>(request.blocks.size()) - 1;
    events_.add(KvEventKind::swap_out, KvReason::partial, turn_of(request), 1);
    return true;
  }
  /// Stores all full blocks of the turn, or nothing.
  bool keep_finished(Request& request) override {
    const int count = request.num_computed_tokens / kv_.block_size();
    if (count == 0 || count > static_cast<int>(free_.size())) return false;
    Swapped gap{nullptr, request.spec.job, count * kv_.block_size()};
    for (int block = 0; block < count; ++block) gap.hashes.push_back(request.block_hash(block));
    store_first(gap, request, count);
    swapped_.push_back(std::move(gap));
    events_.add(KvEventKind::swap_out, KvReason::waste, turn_of(request), count);
    return true;
  }

  std::span<const LoadedKv> before_execution(const StepPlan&, Clock& clock) override {
    failed_.clear();
    copy_out(clock);
    const Nanos start = clock.now();
    int blocks = 0;
    for (Load& load : loads_) {
      const bool stored = entry_of(*load.request) != swapped_.end() ||
                          gap_of(load.request->spec.job) != swapped_.end();
      if (!stored) {  // what this very step stored failed
        end_load(load, {TransferId::none, 0, true});
        continue;
      }
      load.id = transfers_.submit({CopyDirection::load, Urgency::demand}, load.copies);
      blocks += static_cast<int>(load.copies.size());
    }
    if (transfers_.busy()) {
      for (const TransferDone& done : transfers_.drain(clock))
        end_load(*std::ranges::find(loads_, done.id, &Load::id), done);
      rates_.copied(blocks, clock.now() - start);
    }
    loads_.clear();
    ready_ = clock.now();
    return failed_;
  }
  void after_execution(const StepPlan& plan, Clock& clock) override {
    rates_.computed(plan, clock.now() - ready_);
  }

  bool blocking() const override { return true; }
  TransferStats take_stats() override { return transfers_.take_stats(); }
  HostUsage usage() const override {
    const auto capacity = static_cast<int>(config_.host_blocks);
    return {capacity - static_cast<int>(free_.size()), capacity};
  }
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
  Entry entry_of(const Request& request) {
    return std::ranges::find(swapped_, &request, &Swapped::request);
  }
  Entry gap_of(JobId job) {
    return std::ranges::find_if(swapped_, [&](const Swapped& entry) {
      return entry.request == nullptr && entry.job == job;
    });
  }
  /// Tokens of the request that the stored turn holds, in whole blocks and short of the last token.
  int known_tokens(const Swapped& gap, const Request& request) const {
    const int most = std::min(static_cast<int>(gap.hashes.size()),
                              (request.num_tokens() - 1) / kv_.block_size());
    int same = 0;
    while (same < most && gap.hashes[static_cast<std::size_t>(same)] == request.block_hash(same))
      ++same;
    return same * kv_.block_size();
  }
  /// The source block is free at once, since the copy is done before anything is computed or
  /// loaded.
  HostSlot store(BlockId block) {
    const HostSlot slot = free_.back();
    free_.pop_back();
    going_out_.push_back({block, slot});
    return slot;
  }
  void store_first(Swapped& entry, const Request& request, int count) {
    for (int i = 0; i < count; ++i)
      entry.slots.push_back(store(request.blocks[static_cast<std::size_t>(i)]));
  }
  /// Frees the entry's slots, and drops its stores that have not been submitted.
  void release(Entry entry) {
    std::erase_if(going_out_, [&](const BlockCopy& copy) {
      return std::ranges::find(entry->slots, copy.slot) != entry->slots.end();
    });
    free_.insert(free_.end(), entry->slots.rbegin(), entry->slots.rend());
    swapped_.erase(entry);
  }
  /// A request with a block that failed to store is recomputed.
  void copy_out(Clock& clock) {
    if (going_out_.empty()) return;
    const Nanos start = clock.now();
    transfers_.submit({CopyDirection::store, Urgency::demand}, going_out_);
    int landed = transfers_.drain(clock).front().landed;
    rates_.copied(static_cast<int>(going_out_.size()), clock.now() - start);
    for (const BlockCopy& copy : std::exchange(going_out_, {})) {
      if (landed-- > 0) continue;
      const auto entry = std::ranges::find_if(swapped_, [&](const Swapped& swapped) {
        return std::ranges::find(swapped.slots, copy.slot) != swapped.slots.end();
      });
      if (entry != swapped_.end()) release(entry);
    }
  }
  void end_load(const Load& load, const TransferDone& done) {
    for (const BlockCopy& copy : std::views::reverse(load.copies)) kv_.end_copy(copy.block);
    forget(*load.request, Nanos{0});
    if (!done.failed) return;
    events_.add(KvEventKind::load_failed, KvReason::load_failed, turn_of(*load.request),
                static_cast<int>(load.copies.size()) - done.landed);
    failed_.push_back({load.request, (load.gpu_blocks + done.landed) * kv_.block_size(), true});
  }

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

}  // namespace

std::unique_ptr<HostTier> make_swap_tier(const TierConfig& config, KvCache& kv, BlockCopier& copier,
                                         std::vector<KvEvent>& events) {
  return std::make_unique<SwapTier>(config, kv, copier, events);
}

}  // namespace engine
