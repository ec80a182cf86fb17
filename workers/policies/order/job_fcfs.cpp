// First come, first served by job: a turn takes the queue position of its job's first turn. Turns
// of jobs with pinned KV go before all others, since they are cheapest to serve and hold memory
// until they are served.
#include <memory>

#include "workers/policies/order/job_order.hpp"

namespace policies {

Declared job_fcfs_order_declares() { return job_order_declares(); }

std::unique_ptr<engine::QueueOrder> make_job_fcfs_order(const OrderConfig& config) {
  return std::make_unique<JobOrder>(JobGroups::pinned_first, victim_rule(config.parameters));
}

}  // namespace policies
