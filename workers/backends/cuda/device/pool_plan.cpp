#include "workers/backends/cuda/device/pool_plan.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

std::string mib(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::int64_t blocks_by_utilization(double utilization, const DeviceMemoryUse& device,
                                   std::int64_t block_bytes) {
  if (!(utilization > 0 && utilization <= 1))
    throw engine::InputError("engine.gpu_memory_utilization must be above 0 and at most 1, found " +
                             std::to_string(utilization));
  const auto allowed = static_cast<std::int64_t>(utilization * static_cast<double>(device.total));
  const std::int64_t blocks = (allowed - device.used) / block_bytes;
  if (allowed > device.used && blocks >= 2) return blocks;
  throw engine::InputError("no room for KV: " + mib(allowed) +
                           " of the device's memory may be used (engine.gpu_memory_utilization " +
                           std::to_string(utilization) + " of " + mib(device.total) + ") and " +
                           mib(device.used) + " are, a block has " + std::to_string(block_bytes) +
                           " bytes");
}

}  // namespace

PoolPlan plan_pool(const PoolRequest& request, const DeviceMemoryUse& device,
                   std::int64_t block_bytes, int block_size) {
  const std::int64_t blocks =
      request.kv_tokens > 0
          ? request.kv_tokens / block_size + 1  // plus the null block
          : blocks_by_utilization(request.memory_utilization, device, block_bytes);
  constexpr std::int64_t kMostBlocks = std::numeric_limits<int>::max();
  return {.num_blocks = static_cast<int>(std::min(blocks, kMostBlocks)),
          .block_size = block_size,
          .block_bytes = block_bytes,
          .device = device};
}

}  // namespace backends
