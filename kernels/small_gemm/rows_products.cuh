#pragma once
#include "kernels/device/wgmma.cuh"

/// Products of 64 rows of a matrix in shared memory with 8 to 112 rows of another (PTX ISA,
/// "wgmma.mma_async"); wgmma.cuh says where they may be called.
namespace kernels::gpu {

#define KERNELS_SUMS_4(s, i) "+f"(s[i][0]), "+f"(s[i][1]), "+f"(s[i][2]), "+f"(s[i][3])
#define KERNELS_SUMS_8(s, i) KERNELS_SUMS_4(s, i), KERNELS_SUMS_4(s, i + 1)
#define KERNELS_SUMS_16(s, i) KERNELS_SUMS_8(s, i), KERNELS_SUMS_8(s, i + 2)
#define KERNELS_SUMS_32(s, i) KERNELS_SUMS_16(s, i), KERNELS_SUMS_16(s, i + 4)
#define KERNELS_NAMES_4 "%0, %1, %2, %3"
#define KERNELS_NAMES_8 KERNELS_NAMES_4 ", %4, %5, %6, %7"
#define KERNELS_NAMES_16 KERNELS_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define KERNELS_NAMES_24 KERNELS_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define KERNELS_NAMES_32 KERNELS_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define KERNELS_NAMES_56                                                             \
  KERNELS_NAMES_32                                                                   \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55"
#define KERNELS_PRODUCT(shape, type, names, sums_list, a_name, b_name, add_name)            \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_name                             \
               ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." type " {" names \
               "}, " a_name ", " b_name ", add, 1, 1, 0, 0;\n}\n"                           \
               : sums_list                                                                  \
               : "l"(a), "l"(b), "r"(add))
#define KERNELS_PRODUCT_OF(type)                                                                   \
  if constexpr (kCount == 1)                                                                       \
    KERNELS_PRODUCT("m64n8k16", type, KERNELS_NAMES_4, KERNELS_SUMS_4(sums, 0), "%4", "%5", "%6"); \
  else if constexpr (kCount == 2)                                                                  \
    KERNELS_PRODUCT("m64n16k16", type, KERNELS_NAMES_8, KERNELS_SUMS_8(sums, 0), "%8", "%9",       \
                    "%10");                                                                        \
  else if constexpr (kCount == 4)                                                                  \
    KERNELS_PRODUCT("m64n32k16", type, KERNELS_NAMES_16, KERNELS_SUMS_16(sums, 0), "%16", "%17",   \
                    "%18");                                                                        \
  else if constexpr (kCount == 6)                                                                  \
    KERNELS_PRODUCT("m64n48k16", type, KERNELS_NAMES_24,                                           \
                    KERNELS_SUMS_16(sums, 0) COMMA KERNELS_SUMS_8(sums, 4), "%24", "%25", "%26");  \
  else if constexpr (kCount == 8)                                                                  \
    KERNELS_PRODUCT("m64n64k16", type, KERNELS_NAMES_32, KERNELS_SUMS_32(sums, 0), "%32", "%33",   \
                    "%34");                                                                        \
  else                                                                                             \
    KERNELS_PRODUCT("m64n112k16", type, KERNELS_NAMES_56,                                          \
                    KERNELS_SUMS_32(sums, 0) COMMA KERNELS_SUMS_16(sums, 8)                        \
                        COMMA KERNELS_SUMS_8(sums, 12),                                            \
                    "%56", "%57", "%58")
#define COMMA ,

/// sums[64][8 kCount] = (add ? sums : 0) + a[64][16] * b[8 kCount][16]^T, for the warpgroup, in the
/// layout of multiply_score().
template <class T, int kCount>
__device__ inline void multiply_rows(float (&sums)[kCount][4], std::uint64_t a, std::uint64_t b,
                                     int add) {
  static_assert(
      kCount == 1 || kCount == 2 || kCount == 4 || kCount == 6 || kCount == 8 || kCount == 14,
      "8, 16, 32, 48, 64 or 112 rows");
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    KERNELS_PRODUCT_OF("bf16");
  } else {
    KERNELS_PRODUCT_OF("f16");
  }
}

#undef COMMA
#undef KERNELS_SUMS_4
#undef KERNELS_SUMS_8
#undef KERNELS_SUMS_16
#undef KERNELS_SUMS_32
#undef KERNELS_NAMES_4
#undef KERNELS_NAMES_8
#undef KERNELS_NAMES_16
#undef KERNELS_NAMES_24
#undef KERNELS_NAMES_32
#undef KERNELS_NAMES_56
#undef KERNELS_PRODUCT
#undef KERNELS_PRODUCT_OF

}  // namespace kernels::gpu
