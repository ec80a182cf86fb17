#pragma once
#include <cstdint>

namespace backends {

/// The requested size of the KV pool.
struct PoolRequest {
  double memory_utilization = 0.9;  // share of the device's memory that may be in use, (0, 1]
  std::int64_t kv_tokens = 0;       // positive: this many tokens, in whole blocks, instead
};

/// Memory of the device when everything except the pool is allocated.
struct DeviceMemoryUse {
  std::int64_t total = 0;  // bytes
  std::int64_t used = 0;   // by context, weights, activations and other processes
};

struct PoolPlan {
  int num_blocks = 0;  // the null block included, as engine::KvConfig counts
  int block_size = 0;  // tokens
  std::int64_t block_bytes = 0;
  DeviceMemoryUse device;
  std::int64_t bytes() const { return num_blocks * block_bytes; }
  std::int64_t tokens() const { return std::int64_t{num_blocks - 1} * block_size; }
};

/// Throws engine::InputError when the utilization is not in (0, 1] or leaves no room for two
/// blocks.
PoolPlan plan_pool(const PoolRequest& request, const DeviceMemoryUse& device,
                   std::int64_t block_bytes, int block_size);

}  // namespace backends
