#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "workers/engine/host_tier.hpp"
#include "workers/engine/kv_cache.hpp"
#include "workers/engine/prefetch.hpp"

namespace engine {

enum class TierKind : std::uint8_t { none, offload, lmcache, swap };
enum class StoreMode : std::uint8_t {
  eager,  // every full block, one step after it was computed
  lazy,   // blocks that are about to be evicted
};

struct TierConfig {
  TierKind kind = TierKind::none;
  std::int64_t host_blocks = 0;  // slots in host memory
  TransferConfig transfers{};

  // offload
  StoreMode store_mode = StoreMode::eager;
  PrefetchPolicy* prefetch = nullptr;  // borrowed; null: nothing is loaded before it is asked for
  bool tail_store = true;              // store the blocks that a turn's last step completed, too

  // swap
  bool swap_partially = false;   // where the space does not suffice for all blocks of a request
  bool swap_if_cheaper = false;  // than computing again, as far as could be seen

  // lmcache
  int chunk_tokens = 256;  // a multiple of the block size
  bool save_decode = false;
  // What the connector costs beyond its copies; passes on the virtual clock alone.
  Nanos schedule_overhead{0};  // a step
  Nanos save_overhead{0};      // a step that saves
};

/// Throws InputError when the tier's sizes are impossible. `copier` and what else is borrowed must
/// outlive the tier; events are appended to `events`.
std::unique_ptr<HostTier> make_host_tier(const TierConfig& config, int max_step_tokens, KvCache& kv,
                                         BlockCopier& copier, std::vector<KvEvent>& events);

}  // namespace engine
