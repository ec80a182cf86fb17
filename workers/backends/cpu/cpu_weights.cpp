#include "workers/backends/cpu/cpu_weights.hpp"

#include <cstddef>
#include <span>

#include "workers/model/convert.hpp"

namespace backends {

CpuWeights::CpuWeights(const model::ModelConfig& config, const model::WeightSource& source,
                       model::DType stored_as, int threads)
    : config_(config),
      layout_(model::weight_layout(config, stored_as)),
      stored_as_(stored_as),
      rope_(model::rope_table(config)) {
  std::vector<std::byte> stored(static_cast<std::size_t>(layout_.bytes));
  model::read_all(source, layout_, stored_as, stored, threads);
  values_.resize(stored.size() / static_cast<std::size_t>(model::size_of(stored_as)));
  model::convert(stored_as, stored, model::DType::f32, std::as_writable_bytes(std::span(values_)));
}

const float* CpuWeights::at(int parameter) const {
  if (parameter < 0) return nullptr;
  const std::int64_t offset = layout_.parameters[static_cast<std::size_t>(parameter)].offset;
  return values_.data() + offset / model::size_of(stored_as_);
}

}  // namespace backends
