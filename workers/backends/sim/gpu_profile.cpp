#include "workers/backends/sim/gpu_profile.hpp"

#include <algorithm>
#include <regex>

namespace backends {
namespace {

constexpr std::int64_t kPoolBlockTokens = 16;
constexpr double kMib = 1024.0 * 1024.0;

}  // namespace

GpuProfile scaled(GpuProfile gpu, const CostScale& scale) {
  if (gpu.published) {
    gpu.published->intercept_ms *= scale.fixed;
    gpu.published->slope_us_per_token *= scale.token;
  }
  const auto scale_fit = [&](MeasuredFit& fit) {
    fit.base_ms *= scale.fixed;
    for (double* each : {&fit.token_us, &fit.kv_token_ns, &fit.pair_ps}) *each *= scale.token;
  };
  if (gpu.measured) scale_fit(*gpu.measured);
  for (auto& [name, fit] : gpu.servers) scale_fit(fit);
  KernelFit& kernels = gpu.kernels;
  for (double* each : {&kernels.gemm_launch_us, &kernels.prefill_launch_us,
                       &kernels.decode_launch_us, &kernels.step_overhead_us})
    *each *= scale.fixed;
  for (double* each : {&kernels.prefill_token_ns, &kernels.decode_row_ns}) *each *= scale.token;
  for (double* rate :
       {&kernels.gemm_gb_s, &kernels.gemm_tflops, &kernels.prefill_tflops, &kernels.decode_gb_s})
    *rate /= scale.token;
  for (double* rate : {&gpu.link.pinned_h2d_gb_s, &gpu.link.pinned_d2h_gb_s,
                       &gpu.link.pageable_h2d_gb_s, &gpu.link.pageable_d2h_gb_s})
    *rate /= scale.link;
  return gpu;
}

bool is_device(const GpuProfile& gpu, const std::string& device_name, std::int64_t memory_mib) {
  return memory_mib >= gpu.memory_min_mib && memory_mib <= gpu.memory_max_mib &&
         std::regex_match(device_name, std::regex(gpu.name_pattern));
}

std::int64_t kv_pool_tokens(const GpuProfile& gpu, const model::ModelShape& shape) {
  if (const auto known = gpu.kv_tokens.find(shape.name); known != gpu.kv_tokens.end())
    return known->second * shape.dtype_bytes / model::kv_scalar_bytes(shape, shape.dtype_bytes);
  const double usable = static_cast<double>(gpu.memory_mib) * kMib * gpu.pool.utilization;
  const double room =
      usable - gpu.pool.overhead_gib * 0x1p30 - static_cast<double>(model::weight_bytes(shape));
  const std::int64_t block_bytes = kPoolBlockTokens * model::kv_bytes_per_token(shape);
  return kPoolBlockTokens * (static_cast<std::int64_t>(std::max(room, 0.0)) / block_bytes);
}

}  // namespace backends
