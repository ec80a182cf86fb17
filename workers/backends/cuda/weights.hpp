#pragma once
#include <cstdint>
#include <optional>

#include "workers/backends/cuda/nccl_comm.hpp"
#include "workers/model/weights.hpp"

namespace backends {

/// Where the values of a model's parameters come from.
struct WeightOrigin {
  const model::WeightSource& source;  // names the values; read by rank 0 unless `seed` is given
  std::optional<std::uint64_t> seed;  // of model::random_weights(): made on the device instead
  std::optional<NcclGroup> group;     // rank 0's values are sent to the other ranks
};

struct WeightsReport {
  std::int64_t bytes = 0;
  double seconds = 0;  // reading and copying, or making them; 0 where they were received
  BroadcastReport broadcast;
};

}  // namespace backends
