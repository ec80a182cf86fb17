#include "workers/engine/tiers/config.hpp"

#include <stdexcept>
#include <string>

#include "workers/engine/base/errors.hpp"
#include "workers/engine/tiers/connector.hpp"
#include "workers/engine/tiers/lmcache.hpp"
#include "workers/engine/tiers/swap.hpp"

namespace engine {
namespace {

void check(const TierConfig& config, int block_size) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const bool chunked = config.kind == TierKind::lmcache;
  if (chunked && (config.chunk_tokens < block_size || config.chunk_tokens % block_size != 0)) {
    throw InputError("a chunk of the host tier must be a multiple of engine.block_size (" +
                     number(block_size) + "), found " + number(config.chunk_tokens) + " tokens");
  }
  const bool stores = config.store_mode == StoreMode::prompt || config.store_mode == StoreMode::all;
  if (config.prefetch != nullptr && (config.kind != TierKind::offload || !stores))
    throw InputError("prefetch needs a host tier \"offload\" that stores what is computed");
  const std::int64_t least = chunked ? config.chunk_tokens / block_size : 1;
  constexpr std::int64_t kMost = 1 << 30;
  if (config.host_blocks < least || config.host_blocks > kMost) {
    throw InputError("the host tier must hold between " + number(least) + " and " + number(kMost) +
                     " KV blocks, found room for " + number(config.host_blocks));
  }
}

}  // namespace

std::unique_ptr<HostTier> make_host_tier(const TierConfig& config, int max_step_tokens, KvCache& kv,
                                         BlockCopier* copier, std::vector<KvEvent>& events) {
  if (config.kind == TierKind::none) return std::make_unique<NoTier>();
  if (copier == nullptr) throw std::invalid_argument("a host tier needs a copier");
  check(config, kv.block_size());
  if (config.kind == TierKind::lmcache)
    return std::make_unique<LmcacheTier>(config, kv, *copier, events);
  if (config.kind == TierKind::swap) return std::make_unique<SwapTier>(config, kv, *copier, events);
  return std::make_unique<ConnectorTier>(config, max_step_tokens, kv, *copier, events);
}

}  // namespace engine
