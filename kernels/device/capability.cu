#include "kernels/device/capability.hpp"

#include <iterator>

#include "kernels/device/launch.cuh"
#include "kernels/device/types.hpp"

namespace kernels::gpu {
namespace {

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

bool has_wgmma() {
#ifdef KVSWEEP_SM90A
  static const bool known = attribute(cudaDevAttrComputeCapabilityMajor) == 9 &&
                            attribute(cudaDevAttrComputeCapabilityMinor) == 0;
  return known;
#else
  return false;
#endif
}

bool has_dependent_launch() {
  static const bool known = attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
  return known;
}

int multiprocessors() {
  static const int known = attribute(cudaDevAttrMultiProcessorCount);
  return known;
}

int one_wave_tile(std::initializer_list<int> tiles, int n) {
  for (const int tile : tiles)
    if (divide_up(n, tile) <= multiprocessors()) return tile;
  return *std::prev(tiles.end());
}

int most_shared_bytes() {
  static const int known = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return known;
}

}  // namespace kernels::gpu
