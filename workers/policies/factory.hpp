#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/prefetch.hpp"
#include "workers/engine/queue_order.hpp"
#include "workers/engine/retention.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/gap_estimator.hpp"
#include "workers/policies/ttl_rule.hpp"

namespace policies {

/// Names of what is built, for error messages.
std::vector<std::string> order_names();
std::vector<std::string> retention_names();
std::vector<std::string> ttl_rule_names();
std::vector<std::string> estimator_names();
std::vector<std::string> prefetch_names();
std::vector<std::string> scoring_names();

/// All throw engine::InputError naming what is built when the config's name is not among it, or
/// when a part lacks what it needs to know.
std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config);
std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config);
std::unique_ptr<TtlRule> make_ttl_rule(const PolicyConfig& config);
/// Null where nothing is prefetched.
std::unique_ptr<engine::PrefetchPolicy> make_prefetch(const PolicyConfig& config);
std::unique_ptr<GapEstimator> make_estimator(const EstimatorConfig& config);

}  // namespace policies
