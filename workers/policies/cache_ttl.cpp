// The cache-TTL paper's order (arXiv:2511.02230): turns that were preempted, then turns of jobs
// whose KV is pinned, then all others; first come, first served by job within each.
#include <memory>

#include "workers/policies/job_order.hpp"

namespace policies {

std::unique_ptr<engine::QueueOrder> make_cache_ttl_order(const PolicyConfig& config) {
  return std::make_unique<JobOrder>(JobGroups::preempted_then_pinned, config.victim);
}

}  // namespace policies
