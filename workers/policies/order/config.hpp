#pragma once
#include <functional>
#include <memory>

#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/estimators/axis.hpp"
#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/work_history.hpp"

namespace policies {

/// Settings of orders. Values that an order does not use are ignored.
struct OrderConfig {
  Parameters parameters{};                                       // that orders declare
  WorkSource true_work{};                                        // srpt, oracle and hint
  EstimatorError error{};                                        // srpt, hint
  int block_size = 16;                                           // tokens
  std::function<std::unique_ptr<engine::QueueOrder>()> given{};  // plugin
};

using OrderEntry = Entry<engine::QueueOrder, OrderConfig>;
const Axis<engine::QueueOrder, OrderConfig>& orders();

}  // namespace policies
