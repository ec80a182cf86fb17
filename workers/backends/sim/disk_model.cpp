#include "workers/backends/sim/disk_model.hpp"

#include <algorithm>

namespace backends {

engine::Nanos DiskModel::serve(engine::Nanos& end, std::int64_t blocks, double gb_s,
                               engine::Nanos now) const {
  const double bytes = static_cast<double>(blocks) * static_cast<double>(rates_.bytes_per_block);
  const double latency_s = rates_.latency_us * 1e-6;
  const auto later_rounds = static_cast<double>((blocks - 1) / rates_.queue);
  const double seconds = latency_s + std::max(bytes / (gb_s * 1e9), later_rounds * latency_s);
  end = std::max(end, now) + engine::from_seconds(seconds);
  return end;
}

}  // namespace backends
