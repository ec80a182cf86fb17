#include "workers/backends/cpu/cpu_weights.hpp"

#include <cstddef>
#include <cstring>

#include "kernels/number.hpp"
#include "workers/backends/cpu/kv_arena.hpp"

namespace backends {
namespace {

std::vector<float> to_floats(const std::vector<std::byte>& stored, model::DType type) {
  std::vector<float> values(stored.size() / static_cast<std::size_t>(model::size_of(type)));
  with_kv_type(type, [&](auto scalar) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&scalar, stored.data() + i * sizeof scalar, sizeof scalar);
      values[i] = kernels::to_float(scalar);
    }
  });
  return values;
}

}  // namespace

CpuWeights::CpuWeights(const model::ModelConfig& config, const model::WeightSource& source,
                       model::DType stored_as, int threads)
    : config_(config),
      layout_(model::weight_layout(config, stored_as)),
      stored_as_(stored_as),
      rope_(model::rope_table(config)) {
  std::vector<std::byte> stored(static_cast<std::size_t>(layout_.bytes));
  model::read_all(source, layout_, stored_as, stored, threads);
  values_ = to_floats(stored, stored_as);
}

const float* CpuWeights::at(int parameter) const {
  if (parameter < 0) return nullptr;
  const std::int64_t offset = layout_.parameters[static_cast<std::size_t>(parameter)].offset;
  return values_.data() + offset / model::size_of(stored_as_);
}

}  // namespace backends
