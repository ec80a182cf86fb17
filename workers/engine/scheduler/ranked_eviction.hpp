#pragma once
#include <memory>

#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/step/eviction_rule.hpp"
#include "workers/engine/step/queue_order.hpp"

namespace engine {

/// The order that was chosen, which becomes the cache's; null where none was. Borrows cache and
/// queue.
std::unique_ptr<EvictionOrder> make_eviction_order(const EvictionChoice& choice, KvCache& kv,
                                                   const QueueOrder& order);

}  // namespace engine
