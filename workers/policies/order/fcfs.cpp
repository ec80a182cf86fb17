// First come, first served.
#include <memory>

#include "workers/policies/order/arrival_queue.hpp"
#include "workers/policies/order/config.hpp"

namespace policies {

std::unique_ptr<engine::QueueOrder> make_fcfs_order(const OrderConfig&) {
  return std::make_unique<ArrivalQueue>();
}

}  // namespace policies
