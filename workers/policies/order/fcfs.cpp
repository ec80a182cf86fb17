// First come, first served.
#include "workers/policies/order/arrival_queue.hpp"
#include "workers/policies/order/config.hpp"

namespace policies {

OrderEntry fcfs_order() { return {"fcfs", OrderEntry::makes<ArrivalQueue>}; }

}  // namespace policies
