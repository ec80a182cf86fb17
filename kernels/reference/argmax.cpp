#include "kernels/reference/argmax.hpp"

namespace kernels::reference {

std::int32_t argmax(const float* x, int count) {
  std::int32_t best = 0;
  for (std::int32_t i = 1; i < count; ++i)
    if (x[i] > x[best]) best = i;
  return best;
}

}  // namespace kernels::reference
