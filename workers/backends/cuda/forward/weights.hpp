#pragma once
#include <cstdint>
#include <optional>

#include "workers/backends/cuda/device/nccl_comm.hpp"
#include "workers/model/weights.hpp"

namespace backends {

/// Source of the values of a model's parameters.
struct WeightOrigin {
  const model::WeightSource& source;  // identifies the values; read by rank 0 without `seed`
  std::optional<std::uint64_t> seed;  // of model::random_weights(): generated on the device instead
  std::optional<NcclGroup> group;     // rank 0's values are sent to the other ranks
};

struct WeightsReport {
  std::int64_t bytes = 0;
  double seconds = 0;  // reading and copying, or generating; 0 when received
  BroadcastReport broadcast;
};

}  // namespace backends
