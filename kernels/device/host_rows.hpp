#pragma once
#include "kernels/device/types.hpp"

/// What a step needs from the host, read by the multiprocessors themselves: a copy engine serves
/// its copies in order, so a few kilobytes would wait behind every gigabyte of KV on its way.
namespace kernels::gpu {

/// A matrix of numbers in page-locked host memory and its place in device memory.
struct HostRows {
  const std::int32_t* from = nullptr;  // [rows][from_stride], on the host
  std::int32_t* to = nullptr;          // [rows][to_stride], on the device
  int rows = 0, width = 0;             // of each row that many numbers are copied
  int from_stride = 0, to_stride = 0;  // numbers
};

constexpr int kMostHostRows = 3;

/// Copies `count` (at most kMostHostRows) matrices. The host must leave them alone until the kernel
/// has ended.
void fetch_host_rows(const HostRows* parts, int count, cudaStream_t stream);

}  // namespace kernels::gpu
