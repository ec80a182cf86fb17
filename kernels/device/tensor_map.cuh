#pragma once
#include <cuda.h>

#include <array>

#include "kernels/device/launch.cuh"

namespace kernels::gpu {

/// A matrix of 16-bit numbers in device memory (or an array of such matrices), from which the copy
/// engine (TMA) copies boxes to shared memory with a 128-byte swizzle. Numbers of a row are
/// adjacent. Parts of a box outside the matrix are filled with zeros.
template <int kRank>
struct BoxedMatrix {
  Type type;
  const void* data;                             // at a multiple of 16 bytes
  std::array<std::uint64_t, kRank> extent;      // columns, rows, matrices
  std::array<std::uint64_t, kRank - 1> stride;  // of rows and matrices, elements
  std::array<std::uint32_t, kRank> box;         // box[0]: 64 columns, which are 128 bytes
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;  // L2 fetch size
  bool bytes = false;  // numbers of one byte, of any number of columns, are copied as they are
};

/// cuTensorMapEncodeTiled, which is only in the driver's library.
using TensorMapEncoder = decltype(&cuTensorMapEncodeTiled);
inline TensorMapEncoder tensor_map_encoder() {
  static const auto encoder = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                           cudaEnableDefault, &found),
          "cuTensorMapEncodeTiled");
    if (found != cudaDriverEntryPointSuccess || !entry)
      throw CudaError(cudaErrorNotSupported, "cuTensorMapEncodeTiled");
    return reinterpret_cast<TensorMapEncoder>(entry);
  }();
  return encoder;
}

template <int kRank>
CUtensorMap tensor_map(const BoxedMatrix<kRank>& of) {
  const auto type = of.bytes                ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                    : of.type == Type::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                            : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  std::array<std::uint64_t, kRank - 1> bytes = of.stride;
  for (std::uint64_t& stride : bytes) stride *= of.bytes ? 1 : bytes_of(of.type);
  std::array<std::uint32_t, kRank> every;
  every.fill(1);
  CUtensorMap map;
  const CUresult code =
      tensor_map_encoder()(&map, type, kRank, const_cast<void*>(of.data), of.extent.data(),
                           bytes.data(), of.box.data(), every.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                           of.bytes ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B,
                           of.promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS) throw CudaError(cudaErrorInvalidValue, "cuTensorMapEncodeTiled");
  return map;
}

}  // namespace kernels::gpu
