#include "kernels/reference/embed.hpp"

#include <algorithm>

namespace kernels::reference {
namespace {

constexpr std::int64_t kRowsBeforeFirstPosition = 2;

}  // namespace

void embed(float* x, const float* table, const std::int32_t* tokens, int num_tokens, int hidden) {
  for (std::int64_t t = 0; t < num_tokens; ++t)
    std::copy_n(table + std::int64_t{tokens[t]} * hidden, hidden, x + t * hidden);
}

void add_learned_positions(float* x, const float* table, const std::int32_t* positions,
                           int num_tokens, int hidden) {
  for (std::int64_t t = 0; t < num_tokens; ++t) {
    const float* row = table + (positions[t] + kRowsBeforeFirstPosition) * hidden;
    for (int i = 0; i < hidden; ++i) x[t * hidden + i] += row[i];
  }
}

}  // namespace kernels::reference
