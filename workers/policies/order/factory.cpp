#include "workers/policies/order/config.hpp"

// One line per order: its name. The file of that name defines NAME_order().
#define KVSWEEP_ORDERS(ORDER) \
  ORDER(fcfs)                 \
  ORDER(priority)             \
  ORDER(job_fcfs)             \
  ORDER(cache_ttl)            \
  ORDER(attained_service)     \
  ORDER(srpt)                 \
  ORDER(longest_prefix)       \
  ORDER(progress)

namespace policies {

#define DECLARE_ORDER(name) OrderEntry name##_order();
KVSWEEP_ORDERS(DECLARE_ORDER)

const Axis<engine::QueueOrder, OrderConfig>& orders() {
#define ORDER_ENTRY(name) name##_order(),
  static const Axis<engine::QueueOrder, OrderConfig> axis(
      "order", {KVSWEEP_ORDERS(ORDER_ENTRY) OrderEntry::of_plugin()});
  return axis;
}

}  // namespace policies
