#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/queue_order.hpp"
#include "workers/engine/retention.hpp"
#include "workers/policies/config.hpp"

namespace policies {

/// Names of what is built, for error messages.
std::vector<std::string> order_names();
std::vector<std::string> retention_names();

/// Throw engine::InputError naming what is built when config.order or config.retention is not.
std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config);
std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config);

}  // namespace policies
