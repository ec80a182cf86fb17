#pragma once
#include <vector>

#include "workers/model/weights.hpp"

namespace backends {

/// A model in host memory: values rounded to the storage type, held as float32. Immutable, so that
/// any number of cells can share it.
class CpuWeights {
 public:
  /// Reads on `threads` threads. Throws what the source throws.
  CpuWeights(const model::ModelConfig& config, const model::WeightSource& source,
             model::DType stored_as, int threads);

  const model::ModelConfig& config() const { return config_; }
  const model::ModelShape& shape() const { return config_.shape; }
  const model::WeightLayout& layout() const { return layout_; }
  const model::RopeTable& rope() const { return rope_; }
  /// Elements of a parameter by its index in the layout, [rows][cols]; null for -1.
  const float* at(int parameter) const;

 private:
  model::ModelConfig config_;
  model::WeightLayout layout_;  // in stored_as; element i of the allocation is values_[i]
  model::DType stored_as_;
  model::RopeTable rope_;
  std::vector<float> values_;
};

}  // namespace backends
