#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/policies/order/config.hpp"

namespace policies {

/// Appends what the orders declare.
void add_order_parameters(std::vector<DeclaredParameter>& all);
/// Names of the orders in this build, for error messages.
std::vector<std::string> order_names();

/// Throws engine::InputError when the name is not in the build (the error lists those that are), or
/// when the order lacks something that it needs.
std::unique_ptr<engine::QueueOrder> make_order(const std::string& name, const OrderConfig& config);

}  // namespace policies
