#pragma once
#include "kernels/device/types.hpp"

/// Copies of a step's arrays from the host by the multiprocessors themselves. A copy engine serves
/// its copies in order, so a few kilobytes would wait behind every gigabyte of KV in its queue.
namespace kernels::gpu {

/// A matrix of numbers in page-locked host memory and its target in device memory.
struct HostRows {
  const std::int32_t* from = nullptr;  // [rows][from_stride], on the host
  std::int32_t* to = nullptr;          // [rows][to_stride], on the device
  int rows = 0, width = 0;             // `width` numbers of each row are copied
  int from_stride = 0, to_stride = 0;  // numbers
};

constexpr int kMostHostRows = 3;

/// Copies `count` (at most kMostHostRows) matrices. The host must not change them until the kernel
/// has ended.
void fetch_host_rows(const HostRows* parts, int count, cudaStream_t stream);

}  // namespace kernels::gpu
