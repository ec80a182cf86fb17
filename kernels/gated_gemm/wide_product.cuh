#pragma once
#include "kernels/device/wgmma.cuh"

/// A product of 64 rows of a matrix in shared memory with 224 rows of another (PTX ISA,
/// "wgmma.mma_async"); wgmma.cuh says where it may be called.
namespace kernels::gpu {

#define KERNELS_FOUR(i) "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
#define KERNELS_28(i)                                                             \
  KERNELS_FOUR(i), KERNELS_FOUR(i + 1), KERNELS_FOUR(i + 2), KERNELS_FOUR(i + 3), \
      KERNELS_FOUR(i + 4), KERNELS_FOUR(i + 5), KERNELS_FOUR(i + 6)
#define KERNELS_WIDE(type)                                                                      \
  asm volatile(                                                                                 \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %114, 0;\n"                                         \
      "wgmma.mma_async.sync.aligned.m64n224k16.f32." type "." type                              \
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
      "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "   \
      "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "   \
      "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, "   \
      "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, "   \
      "%87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, "     \
      "%103, %104, %105, %106, %107, %108, %109, %110, %111}, %112, %113, add, 1, 1, 0, 0;\n}"  \
      "\n"                                                                                      \
      : KERNELS_28(0), KERNELS_28(7), KERNELS_28(14), KERNELS_28(21)                            \
      : "l"(a), "l"(b), "r"(add))

/// sums[64][224] = (add ? sums : 0) + a[64][16] * b[224][16]^T, for the warpgroup, in the layout of
/// multiply_score().
template <class T>
__device__ inline void multiply_wide(float (&sums)[28][4], std::uint64_t a, std::uint64_t b,
                                     int add) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    KERNELS_WIDE("bf16");
  } else {
    KERNELS_WIDE("f16");
  }
}

#undef KERNELS_FOUR
#undef KERNELS_28
#undef KERNELS_WIDE

}  // namespace kernels::gpu
