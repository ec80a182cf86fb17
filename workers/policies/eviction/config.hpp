#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/eviction_rule.hpp"
#include "workers/policies/estimators/axis.hpp"
#include "workers/policies/estimators/config.hpp"

namespace policies {

/// How long the KV of some tokens of a context is worth more, or less, than others'.
struct RetainedRange {
  int begin = 0, end = 0;  // tokens [begin, end)
  int priority = 0;
  engine::Nanos lasts = engine::Nanos::max();  // from the end or preemption of the turn
};

/// The KV of the ranges of a context, and of the tokens that a turn generates. The first range that
/// has a block's first token counts.
struct RetainedRanges {
  std::vector<RetainedRange> ranges;
  std::vector<RetainedRange> generated;  // at most one, of all tokens
};

/// Reads "0-512:100, 512-:35:2.5, generated:20": ranges of tokens, the last one possibly without
/// end, with a priority of 0 to 100 and, after another colon, the seconds that it lasts. Throws
/// engine::InputError.
RetainedRanges parse_retained(const std::string& text);

/// Settings of the rules of eviction. Values that a rule does not use are ignored.
struct EvictionConfig {
  Parameters parameters{};  // that rules declare

  std::function<std::unique_ptr<engine::EvictionRule>()> given{};  // plugin

  /// cost_aware: relative growth of the cost of recomputing a token with its position. The token at
  /// n costs 1 + cost_growth * n times the first.
  double cost_growth = 0;
};

using RuleEntry = Entry<engine::EvictionRule, EvictionConfig>;
const Axis<engine::EvictionRule, EvictionConfig>& eviction_rules();

/// The KV that is used last goes first, by a forecast of when jobs return or by their true return.
engine::EvictionOrderMaker make_next_use_order(EstimatorConfig estimator);
engine::EvictionOrderMaker make_oracle_order(EstimatorConfig estimator);

}  // namespace policies
