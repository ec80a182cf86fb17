#include "workers/engine/tiers/config.hpp"

#include <cassert>
#include <stdexcept>

#include "workers/engine/tiers/connector.hpp"

namespace engine {
namespace {

/// Whether binding accepts it.
[[maybe_unused]] bool is_possible(const TierConfig& config, int block_size) {
  const bool stores = config.store_mode == StoreMode::prompt || config.store_mode == StoreMode::all;
  const bool may_prefetch = config.kind == TierKind::offload && stores;
  const bool chunked = config.kind == TierKind::lmcache;
  const std::int64_t least = chunked ? config.chunk_tokens / block_size : 1;
  return (!chunked || config.chunk_tokens % block_size == 0) &&
         (config.prefetch == nullptr || may_prefetch) &&
         (config.disk == nullptr || (config.kind == TierKind::offload && config.disk_blocks > 0)) &&
         least > 0 && config.host_blocks >= least && config.host_blocks <= 1 << 30;
}

}  // namespace

std::unique_ptr<HostTier> make_host_tier(const TierConfig& config, int max_step_tokens, KvCache& kv,
                                         BlockCopier* copier, std::vector<KvEvent>& events) {
  if (config.kind == TierKind::none) return std::make_unique<NoTier>();
  if (copier == nullptr) throw std::invalid_argument("a host tier needs a copier");
  assert(is_possible(config, kv.block_size()));
  if (config.kind == TierKind::lmcache) return make_lmcache_tier(config, kv, *copier, events);
  if (config.kind == TierKind::swap) return make_swap_tier(config, kv, *copier, events);
  return std::make_unique<ConnectorTier>(config, max_step_tokens, kv, *copier, events);
}

}  // namespace engine
