#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/prefetch/policy.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/retention.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/ttl_rule.hpp"

namespace policies {

/// Names of the policies in this build, for error messages.
std::vector<std::string> order_names();
std::vector<std::string> retention_names();
std::vector<std::string> ttl_rule_names();
std::vector<std::string> prefetch_names();
std::vector<std::string> scoring_names();

/// All throw engine::InputError: when the config's name is not in the build (the error lists those
/// that are), or when a part lacks a parameter that it needs.
std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config);
std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config);
std::unique_ptr<TtlRule> make_ttl_rule(const PolicyConfig& config);
/// Null when nothing is prefetched.
std::unique_ptr<engine::PrefetchPolicy> make_prefetch(const PolicyConfig& config);

}  // namespace policies
