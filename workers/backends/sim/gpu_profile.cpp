#include "workers/backends/sim/gpu_profile.hpp"

#include <algorithm>
#include <regex>

namespace backends {
namespace {

constexpr std::int64_t kPoolBlockTokens = 16;
constexpr double kMib = 1024.0 * 1024.0;
constexpr double kGib = 1024.0 * kMib;

}  // namespace

bool is_device(const GpuProfile& gpu, const std::string& device_name, std::int64_t memory_mib) {
  return memory_mib >= gpu.memory_min_mib && memory_mib <= gpu.memory_max_mib &&
         std::regex_match(device_name, std::regex(gpu.name_pattern));
}

std::int64_t kv_pool_tokens(const GpuProfile& gpu, const model::ModelShape& shape) {
  if (const auto known = gpu.kv_tokens.find(shape.name); known != gpu.kv_tokens.end())
    return known->second;
  const double usable = static_cast<double>(gpu.memory_mib) * kMib * gpu.pool.utilization;
  const double room =
      usable - gpu.pool.overhead_gib * kGib - static_cast<double>(model::weight_bytes(shape));
  const std::int64_t block_bytes = kPoolBlockTokens * model::kv_bytes_per_token(shape);
  return kPoolBlockTokens * (static_cast<std::int64_t>(std::max(room, 0.0)) / block_bytes);
}

}  // namespace backends
