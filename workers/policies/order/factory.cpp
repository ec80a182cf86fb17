#include "workers/policies/order/factory.hpp"

#include "workers/policies/estimators/named_makers.hpp"

// One line per order: its name. The file of that name defines its maker and, of a TUNABLE one, what
// it declares.
#define KVSWEEP_ORDERS(ORDER, TUNABLE) \
  ORDER(fcfs)                          \
  ORDER(priority)                      \
  TUNABLE(job_fcfs)                    \
  TUNABLE(cache_ttl)                   \
  TUNABLE(attained_service)            \
  TUNABLE(srpt)                        \
  TUNABLE(longest_prefix)              \
  ORDER(progress)

namespace policies {

#define DECLARE_ORDER(name) \
  std::unique_ptr<engine::QueueOrder> make_##name##_order(const OrderConfig&);
#define DECLARE_TUNABLE_ORDER(name) \
  DECLARE_ORDER(name)               \
  Declared name##_order_declares();
KVSWEEP_ORDERS(DECLARE_ORDER, DECLARE_TUNABLE_ORDER)

namespace {

#define ORDER_ENTRY(name) {#name, make_##name##_order},
#define TUNABLE_ORDER_ENTRY(name) {#name, make_##name##_order, name##_order_declares},
constexpr Entry<engine::QueueOrder, OrderConfig> kOrders[] = {KVSWEEP_ORDERS(
    ORDER_ENTRY, TUNABLE_ORDER_ENTRY) given_by_plugin<engine::QueueOrder, OrderConfig>()};

}  // namespace

void add_order_parameters(std::vector<DeclaredParameter>& all) {
  add_parameters(kOrders, "policy.order", all);
}

std::vector<std::string> order_names() { return names_in(kOrders); }

std::unique_ptr<engine::QueueOrder> make_order(const std::string& name, const OrderConfig& config) {
  return make_named(kOrders, "order", name, config);
}

}  // namespace policies
