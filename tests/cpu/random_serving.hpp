#pragma once
#include <string>

#include "tests/cpu/served_jobs.hpp"

namespace cpu_test {

constexpr int kMaxModelLen = 120;

/// A way to serve that shares nothing with the plain one but the model: small chunks, blocks of one
/// of these sizes, a pool that holds little more than one sequence.
Serving random_serving(support::Dice& dice, model::DType kv_type,
                       std::initializer_list<int> block_sizes = {1, 2, 3, 4, 8, 16, 31, 32, 64});

/// A host tier of any kind, from far too small to ample.
void add_random_tier(support::Dice& dice, Serving& serving);

std::string describe(const Serving& serving);

}  // namespace cpu_test
