#pragma once
#include <string>

#include "tests/cpu/served_jobs.hpp"

namespace cpu_test {

constexpr int kMaxModelLen = 120;

/// A serving that has only the model in common with the plain one: small chunks, blocks of one of
/// these sizes, a pool that barely holds one sequence.
Serving random_serving(support::Dice& dice, model::DType kv_type,
                       std::initializer_list<int> block_sizes = {1, 2, 3, 4, 8, 16, 31, 32, 64});

/// Adds a host tier of any kind, from far too small to ample.
void add_random_tier(support::Dice& dice, Serving& serving);

/// Lets the plugin in `object` decide on half of the axes, taken at random, but for those of a
/// tier.
void let_plugin_decide(support::Dice& dice, const std::string& object, Serving& serving);

std::string describe(const Serving& serving);

}  // namespace cpu_test
