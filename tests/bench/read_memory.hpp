#pragma once
#include "kernels/device/types.hpp"

namespace kernels::gpu {

/// Reads `bytes` (a multiple of 16) of device memory and discards them; `sink` is one unsigned on
/// the device.
void read_memory(const void* from, std::size_t bytes, unsigned* sink, cudaStream_t stream);

}  // namespace kernels::gpu
