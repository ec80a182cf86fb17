// The order of the cache-TTL paper (arXiv:2511.02230): preempted turns, then turns of jobs with
// pinned KV, then all others; first come, first served by job within each group.
#include <memory>

#include "workers/policies/order/job_order.hpp"

namespace policies {

Declared cache_ttl_order_declares() { return job_order_declares(); }

std::unique_ptr<engine::QueueOrder> make_cache_ttl_order(const OrderConfig& config) {
  return std::make_unique<JobOrder>(JobGroups::preempted_then_pinned,
                                    victim_rule(config.parameters));
}

}  // namespace policies
