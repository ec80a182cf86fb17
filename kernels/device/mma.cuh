#pragma once
#include "kernels/device/number.cuh"

/// Tensor cores and asynchronous copies: thin wrappers of PTX (PTX ISA, "Matrix multiply-accumulate
/// operation using mma instruction", "ldmatrix", "cp.async"). All need compute capability 8.0.
namespace kernels::gpu {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes from device to shared memory, bypassing L1, or writes zeros without reading.
__device__ inline void copy_async(std::uint32_t to, const void* from, bool read) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from),
               "r"(read ? 16 : 0)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
/// Waits until at most `kPending` of this thread's groups of copies are in flight.
template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

/// Loads 8 bytes from shared memory, or stores 16.
__device__ inline uint2 load_eight_bytes(std::uint32_t from) {
  uint2 out;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];\n"
               : "=r"(out.x), "=r"(out.y)
               : "r"(from)
               : "memory");
  return out;
}
__device__ inline void store_sixteen_bytes(std::uint32_t to, const uint4& from) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};\n" ::"r"(to), "r"(from.x), "r"(from.y),
               "r"(from.z), "r"(from.w)
               : "memory");
}

/// Loads four 8x8 matrices of 16-bit numbers; lane l gives the address of row l % 8 of matrix l /
/// 8.
__device__ inline void load_matrices(std::uint32_t (&out)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}
/// Loads two matrices; lanes from 16 on may give any address.
__device__ inline void load_matrices(std::uint32_t (&out)[2], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(out[0]), "=r"(out[1])
               : "r"(address)
               : "memory");
}
/// Loads two matrices, each transposed.
__device__ inline void load_transposed(std::uint32_t (&out)[2], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(out[0]), "=r"(out[1])
               : "r"(address)
               : "memory");
}
__device__ inline void load_transposed(std::uint32_t (&out)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// sum[16][8] += a[16][16] * b[16][8]. Of `sum`, lane l holds rows l / 4 and l / 4 + 8, columns 2
/// (l % 4) and the next: {row 0 col 0, row 0 col 1, row 1 col 0, row 1 col 1}.
template <class T>
__device__ inline void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1);
template <>
__device__ inline void multiply_add<__nv_bfloat16>(float (&sum)[4], const std::uint32_t (&a)[4],
                                                   std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void multiply_add<__half>(float (&sum)[4], const std::uint32_t (&a)[4],
                                            std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// 2^x with the special-function unit (relative error 2^-22); exact for 0, and 0 for -infinity.
__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

/// Bytes from a tile's start to 16-byte piece `piece` of row `row`. The row's number permutes the
/// pieces of a row, so that the eight rows of a matrix are in different banks.
template <int kRowBytes>
__device__ inline std::uint32_t swizzled(int row, int piece) {
  const int permuted = kRowBytes >= 128 ? piece ^ (row & 7) : piece ^ (row / 2 & 3);
  return static_cast<std::uint32_t>(row * kRowBytes + (permuted << 4));
}

}  // namespace kernels::gpu
