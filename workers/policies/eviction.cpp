// Which unreferenced KV on the GPU is evicted first, and what leaves the host tier first.
#include <algorithm>

#include "workers/policies/factory.hpp"

namespace policies {
namespace {

/// A way that is no rule of blocks.
struct OrderRow {
  std::string_view name;
  engine::EvictionOrderMaker (*make)(EstimatorConfig);  // null: the block released first
};
// partial_first takes blocks without content before others, which the pool does by itself.
constexpr OrderRow kOrders[] = {{"lru", nullptr},
                                {"partial_first", nullptr},
                                {"next_use", make_next_use_order},
                                {"oracle", make_oracle_order}};

double cost_growth(const ReloadCost& cost) {
  return cost.linear_s > 0 ? std::max(0.0, 2 * cost.quadratic_s / cost.linear_s) : 0;
}

}  // namespace

std::vector<std::string> eviction_names() {
  std::vector<std::string> names;
  for (const OrderRow& row : kOrders) names.emplace_back(row.name);
  for (std::string& rule : eviction_rules().names()) names.push_back(std::move(rule));
  return names;
}

engine::EvictionChoice make_eviction(const PolicyConfig& config) {
  for (const OrderRow& row : kOrders)
    if (row.name == config.eviction)
      return {.order = row.make == nullptr ? nullptr : row.make(config.estimator), .rule = nullptr};
  const std::vector<std::string> names = eviction_names();
  if (std::ranges::count(names, config.eviction) == 0)
    reject_name("eviction", config.eviction, names);
  EvictionConfig rule = config.eviction_rule;
  rule.cost_growth = cost_growth(config.reload);
  return {.order = {}, .rule = eviction_rules().make(config.eviction, rule)};
}

std::unique_ptr<engine::HostEviction> make_host_eviction(const PolicyConfig& config,
                                                         const engine::QueueOrder& order) {
  return host_evictions().make(config.host_eviction, {config.estimator, &order, config.parameters});
}

}  // namespace policies
