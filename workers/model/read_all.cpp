#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "sweeps/process/parallel.hpp"
#include "workers/model/weights.hpp"

namespace model {
namespace {

/// Largest first, so that threads wait least for the last read to finish.
std::vector<std::size_t> by_falling_size(const WeightLayout& layout) {
  std::vector<std::size_t> order(layout.parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return layout.parameters[a].elements() > layout.parameters[b].elements();
  });
  return order;
}

}  // namespace

void read_all(const WeightSource& source, const WeightLayout& layout, DType type,
              std::span<std::byte> out, int threads) {
  if (out.size() < static_cast<std::size_t>(layout.bytes))
    throw std::invalid_argument("the buffer for all weights is smaller than their layout");
  const std::vector<std::size_t> order = by_falling_size(layout);
  sweep::in_parallel(order.size(), threads, [&](std::size_t i) {
    const Parameter& parameter = layout.parameters[order[i]];
    const auto bytes = static_cast<std::size_t>(parameter.elements() * size_of(type));
    source.read(parameter, type, out.subspan(static_cast<std::size_t>(parameter.offset), bytes));
  });
}

}  // namespace model
