// Copies small matrices from host memory. A round trip over the link takes about a microsecond, so
// every thread has a load in flight at once.
#include "kernels/blocks/host_rows.hpp"
#include "kernels/device/launch.cuh"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kMostCtas = 64;  // per part

struct Parts {
  HostRows part[kMostHostRows];
};

__global__ void fetch_host_rows_kernel(const __grid_constant__ Parts parts) {
  const HostRows& part = parts.part[blockIdx.y];
  const std::int64_t numbers = std::int64_t{part.rows} * part.width;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < numbers; i += step) {
    const std::int64_t row = i / part.width, column = i % part.width;
    part.to[row * part.to_stride + column] = part.from[row * part.from_stride + column];
  }
}

}  // namespace

void fetch_host_rows(const HostRows* parts, int count, cudaStream_t stream) {
  require(count <= kMostHostRows, "fetch_host_rows: too many matrices", count);
  Parts all;
  std::int64_t most = 0;
  for (int i = 0; i < count; ++i) {
    all.part[i] = parts[i];
    const std::int64_t numbers = std::int64_t{parts[i].rows} * parts[i].width;
    most = numbers > most ? numbers : most;
  }
  if (most == 0) return;
  const std::int64_t ctas = (most + kThreads - 1) / kThreads;
  const auto x = static_cast<unsigned>(ctas < kMostCtas ? ctas : kMostCtas);
  launch("fetch_host_rows", fetch_host_rows_kernel,
         {dim3(x, static_cast<unsigned>(count)), kThreads}, stream, all);
}

}  // namespace kernels::gpu
