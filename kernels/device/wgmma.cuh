#pragma once
#include <type_traits>

#include "kernels/device/mma.cuh"

/// Matrix products of a warpgroup on operands in shared memory: thin wrappers of PTX (PTX ISA,
/// "Asynchronous Warpgroup Level Matrix Instructions"). They need compute capability 9.0, compiled
/// for sm_90a.
namespace kernels::gpu {

/// The body of a kernel that calls them is compiled only if KERNELS_WGMMA is 1: for sm_90a, and for
/// the host, where it generates no code.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KERNELS_WGMMA 1
#else
#define KERNELS_WGMMA 0
#endif

/// Raises the number of registers of each thread of the warpgroup to `kRegisters`, once other
/// warpgroups of the CTA have released that many.
template <int kRegisters>
__device__ inline void ask_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
/// Lowers it to `kRegisters`.
template <int kRegisters>
__device__ inline void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

/// Descriptor of a matrix of 16-bit numbers in shared memory. The matrix is stored in panels of 64
/// columns, so a row of a panel has 128 bytes. Its 16-byte pieces are swizzled(), as by the
/// 128-byte swizzle of tensor maps. Eight rows are adjacent and start at a multiple of 1,024 bytes.
///
/// The fields (PTX ISA, "Matrix Descriptor Format"), from the lowest bit: the address; the distance
/// between panels, which only counts if the sum runs over the matrix's rows; the distance between
/// groups of eight rows; and 1, which means the 128-byte swizzle. Address and distances are in
/// units of 16 bytes.
__device__ inline std::uint64_t matrix_at(std::uint32_t address, int panel_bytes,
                                          int eight_rows_bytes) {
  return (address & 0x3ffffu) >> 4 | static_cast<std::uint64_t>(panel_bytes >> 4) << 16 |
         static_cast<std::uint64_t>(eight_rows_bytes >> 4) << 32 | std::uint64_t{1} << 62;
}
/// Descriptor of the matrix at an address `bytes` bytes higher.
__device__ constexpr std::uint64_t further(std::uint64_t matrix, int bytes) {
  return matrix + static_cast<std::uint64_t>(bytes >> 4);
}

/// Begins a batch of products, which come after this warp's earlier accesses to their registers.
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
/// Ends the batch.
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
/// Keeps the compiler from moving uses of `sums` above this point.
template <int kCount>
__device__ inline void pin(float (&sums)[kCount][4]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("" : "+f"(sums[i][j])::"memory");
}
/// Waits until at most `kPending` batches are in flight. `sums` belong to a batch that has
/// completed by then; the compiler uses them only after the wait.
template <int kPending, int kCount>
__device__ inline void wait_products(float (&sums)[kCount][4]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
  pin(sums);
}

// A warpgroup's sums as operands of an instruction, in groups of eight columns, and their names.
#define KERNELS_SUM(i) "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
#define KERNELS_SUMS_2(i) KERNELS_SUM(i), KERNELS_SUM(i + 1)
#define KERNELS_SUMS_4(i) KERNELS_SUMS_2(i), KERNELS_SUMS_2(i + 2)
#define KERNELS_SUMS_8(i) KERNELS_SUMS_4(i), KERNELS_SUMS_4(i + 4)
#define KERNELS_SUMS_16(i) KERNELS_SUMS_8(i), KERNELS_SUMS_8(i + 8)
#define KERNELS_NAMES_4 "%0, %1, %2, %3"
#define KERNELS_NAMES_8 KERNELS_NAMES_4 ", %4, %5, %6, %7"
#define KERNELS_NAMES_16 KERNELS_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define KERNELS_NAMES_24 KERNELS_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define KERNELS_NAMES_32 KERNELS_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define KERNELS_NAMES_40 KERNELS_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define KERNELS_NAMES_48 KERNELS_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define KERNELS_NAMES_56 KERNELS_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define KERNELS_NAMES_64 KERNELS_NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define KERNELS_NAMES_72 KERNELS_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define KERNELS_NAMES_112                                                              \
  KERNELS_NAMES_72                                                                     \
  ", %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, " \
  "%88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, "     \
  "%103, %104, %105, %106, %107, %108, %109, %110, %111"

// Both matrices are in shared memory, and the sum runs over the columns of both. With `add` 0 the
// sums start from 0.
#define KERNELS_PRODUCT(columns, type, names, a_name, b_name, add_name, ...)              \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_name                           \
               ", 0;\nwgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type \
               " {" names "}, " a_name ", " b_name ", add, 1, 1, 0, 0;\n}\n"              \
               : __VA_ARGS__                                                              \
               : "l"(a), "l"(b), "r"(add))
#define KERNELS_PRODUCT_OF(type)                                                              \
  if constexpr (kCount == 1)                                                                  \
    KERNELS_PRODUCT("8", type, KERNELS_NAMES_4, "%4", "%5", "%6", KERNELS_SUM(0));            \
  else if constexpr (kCount == 2)                                                             \
    KERNELS_PRODUCT("16", type, KERNELS_NAMES_8, "%8", "%9", "%10", KERNELS_SUMS_2(0));       \
  else if constexpr (kCount == 4)                                                             \
    KERNELS_PRODUCT("32", type, KERNELS_NAMES_16, "%16", "%17", "%18", KERNELS_SUMS_4(0));    \
  else if constexpr (kCount == 6)                                                             \
    KERNELS_PRODUCT("48", type, KERNELS_NAMES_24, "%24", "%25", "%26", KERNELS_SUMS_4(0),     \
                    KERNELS_SUMS_2(4));                                                       \
  else if constexpr (kCount == 8)                                                             \
    KERNELS_PRODUCT("64", type, KERNELS_NAMES_32, "%32", "%33", "%34", KERNELS_SUMS_8(0));    \
  else if constexpr (kCount == 10)                                                            \
    KERNELS_PRODUCT("80", type, KERNELS_NAMES_40, "%40", "%41", "%42", KERNELS_SUMS_8(0),     \
                    KERNELS_SUMS_2(8));                                                       \
  else if constexpr (kCount == 12)                                                            \
    KERNELS_PRODUCT("96", type, KERNELS_NAMES_48, "%48", "%49", "%50", KERNELS_SUMS_8(0),     \
                    KERNELS_SUMS_4(8));                                                       \
  else if constexpr (kCount == 14)                                                            \
    KERNELS_PRODUCT("112", type, KERNELS_NAMES_56, "%56", "%57", "%58", KERNELS_SUMS_8(0),    \
                    KERNELS_SUMS_4(8), KERNELS_SUMS_2(12));                                   \
  else if constexpr (kCount == 16)                                                            \
    KERNELS_PRODUCT("128", type, KERNELS_NAMES_64, "%64", "%65", "%66", KERNELS_SUMS_16(0));  \
  else if constexpr (kCount == 18)                                                            \
    KERNELS_PRODUCT("144", type, KERNELS_NAMES_72, "%72", "%73", "%74", KERNELS_SUMS_16(0),   \
                    KERNELS_SUMS_2(16));                                                      \
  else if constexpr (kCount == 28)                                                            \
  KERNELS_PRODUCT("224", type, KERNELS_NAMES_112, "%112", "%113", "%114", KERNELS_SUMS_16(0), \
                  KERNELS_SUMS_8(16), KERNELS_SUMS_4(24))
// The first matrix is in registers, the second in shared memory. The sum runs over the columns of
// the first and the rows of the second.
#define KERNELS_WEIGH(columns, type, names, a0, a1, a2, a3, b_name, ...)                       \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" names \
               "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_name ", 1, 1, 1, 1;\n"                \
               : __VA_ARGS__                                                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define KERNELS_WEIGH_OF(type)                                                      \
  if constexpr (kCount == 8)                                                        \
    KERNELS_WEIGH("64", type, KERNELS_NAMES_32, "%32", "%33", "%34", "%35", "%36",  \
                  KERNELS_SUMS_8(0));                                               \
  else                                                                              \
    KERNELS_WEIGH("128", type, KERNELS_NAMES_64, "%64", "%65", "%66", "%67", "%68", \
                  KERNELS_SUMS_16(0))

/// sums[64][8 kCount] = (add ? sums : 0) + a[64][16] * b[8 kCount][16]^T, for the warpgroup. Warp w
/// holds the 16 rows from 16 (w % 4) on. Of these, sums[n] has columns 8 n to 8 n + 7, in the
/// layout of multiply_add().
template <class T, int kCount>
__device__ inline void multiply_rows(float (&sums)[kCount][4], std::uint64_t a, std::uint64_t b,
                                     int add) {
  static_assert(kCount == 1 || kCount == 2 || kCount == 4 || kCount == 6 || kCount == 8 ||
                    kCount == 10 || kCount == 12 || kCount == 14 || kCount == 16 || kCount == 18 ||
                    kCount == 28,
                "KERNELS_PRODUCT_OF has these");
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    KERNELS_PRODUCT_OF("bf16");
  } else {
    KERNELS_PRODUCT_OF("f16");
  }
}

/// sums[64][8 kCount] += a[64][16] * b[16][8 kCount]. Each warp holds the rows as above, of `a` in
/// the layout of multiply_add()'s `a`.
template <class T, int kCount>
__device__ inline void multiply_weights(float (&sums)[kCount][4], const std::uint32_t (&a)[4],
                                        std::uint64_t b) {
  static_assert(kCount == 8 || kCount == 16, "a row has 64 or 128 numbers");
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    KERNELS_WEIGH_OF("bf16");
  } else {
    KERNELS_WEIGH_OF("f16");
  }
}

#undef KERNELS_SUM
#undef KERNELS_SUMS_2
#undef KERNELS_SUMS_4
#undef KERNELS_SUMS_8
#undef KERNELS_SUMS_16
#undef KERNELS_NAMES_4
#undef KERNELS_NAMES_8
#undef KERNELS_NAMES_16
#undef KERNELS_NAMES_24
#undef KERNELS_NAMES_32
#undef KERNELS_NAMES_40
#undef KERNELS_NAMES_48
#undef KERNELS_NAMES_56
#undef KERNELS_NAMES_64
#undef KERNELS_NAMES_72
#undef KERNELS_NAMES_112
#undef KERNELS_PRODUCT
#undef KERNELS_PRODUCT_OF
#undef KERNELS_WEIGH
#undef KERNELS_WEIGH_OF

}  // namespace kernels::gpu
