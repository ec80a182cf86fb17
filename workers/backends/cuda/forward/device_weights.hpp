#pragma once
#include <cstdint>

#include "kernels/device/types.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/forward/weights.hpp"
#include "workers/model/weights.hpp"

namespace backends::cuda {

/// The kernels' type for a model's type. Throws engine::InputError for float32.
kernels::gpu::Type kernel_type(model::DType type);

/// A model's parameters in one allocation on the device.
class DeviceWeights {
 public:
  /// Allocates and fills the memory. Rank 0 of the group reads or generates the values; the others
  /// receive them.
  DeviceWeights(const model::ModelConfig& config, const WeightOrigin& origin);

  const model::ModelConfig& config() const { return config_; }
  const model::WeightLayout& layout() const { return layout_; }
  const WeightsReport& report() const { return report_; }
  kernels::gpu::Type type() const { return kernel_type(config_.dtype); }
  /// Device memory of a parameter; null for those that the architecture lacks (negative).
  const void* at(int parameter) const;

 private:
  void fill(const WeightOrigin& origin);
  void make_random(std::uint64_t seed);
  void read(const model::WeightSource& source);

  model::ModelConfig config_;
  model::WeightLayout layout_;
  DeviceBuffer memory_;
  WeightsReport report_;
};

}  // namespace backends::cuda
