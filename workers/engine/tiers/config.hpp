#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "workers/engine/step/transfer_queue.hpp"

namespace engine {

class BlockDisk;
class HostEviction;
class HostTier;
class KvCache;
class PrefetchPolicy;
struct KvEvent;

enum class TierKind : std::uint8_t { none, offload, lmcache, swap };
enum class StoreMode : std::uint8_t {
  prompt,       // full blocks of prompts
  all,          // every full block
  second_turn,  // every full block that another turn than its own uses
  lazy,         // blocks that are about to be evicted
};

struct TierConfig {
  TierKind kind = TierKind::none;
  std::int64_t host_blocks = 0;  // size of the host tier
  TransferConfig transfers{};
  // The order of eviction; offload, lmcache. Borrowed; null: least recently used first.
  HostEviction* eviction = nullptr;
  bool arc = false;  // by ARC, without a rule; offload, lmcache

  // offload
  StoreMode store_mode = StoreMode::prompt;
  PrefetchPolicy* prefetch = nullptr;  // borrowed; null: KV is loaded on demand only
  bool tail_store = true;              // also store what a turn has not stored when it ends
  bool as_v0_26 = false;               // uses by look-ups and stores; no block is offered twice
  int store_threshold = 0;             // a block is stored when it is offered so often
  BlockDisk* disk = nullptr;           // borrowed; behind host memory
  std::int64_t disk_blocks = 0;        // size of the disk

  // swap
  bool swap_partially = false;   // swap as many blocks of a request as there is space for
  bool swap_if_cheaper = false;  // swap only when estimated cheaper than recomputing

  // lmcache
  int chunk_tokens = 256;  // a multiple of the block size
  bool save_decode = false;
  // Costs of the connector beyond its copies, per step (of offload, too) and per step that stores;
  // they pass on the virtual clock alone.
  Nanos schedule_overhead{0};
  Nanos save_overhead{0};
};

/// Throws InputError when the tier's sizes are impossible. All borrowed objects must outlive the
/// tier; a tier other than none needs a copier. Events are appended to `events`.
std::unique_ptr<HostTier> make_host_tier(const TierConfig& config, int max_step_tokens, KvCache& kv,
                                         BlockCopier* copier, std::vector<KvEvent>& events);
/// Those of one kind.
std::unique_ptr<HostTier> make_lmcache_tier(const TierConfig& config, KvCache& kv,
                                            BlockCopier& copier, std::vector<KvEvent>& events);
std::unique_ptr<HostTier> make_swap_tier(const TierConfig& config, KvCache& kv, BlockCopier& copier,
                                         std::vector<KvEvent>& events);

}  // namespace engine
