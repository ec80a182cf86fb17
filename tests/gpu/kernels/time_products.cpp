#include <algorithm>
#include <cstdio>

#include "kernels/layers/layers.hpp"
#include "tests/gpu/kernels/timing.hpp"

namespace gpu_timing {
namespace {

/// Random matrices to be used in turn, all in the same memory: right after gigabytes have been
/// freed, kernels are slower.
struct Matrices {
  explicit Matrices(std::int64_t elements)
      : elements(elements),
        count(static_cast<int>(std::clamp<std::int64_t>(kAll / elements, 2, 32))) {
    static const Memory memory = random_numbers(kAll);
    all = memory.get<char>();
  }
  const void* operator[](int i) const { return all + i * elements * 2; }

  static constexpr std::int64_t kAll = std::int64_t{4} << 30;
  std::int64_t elements;
  int count;
  const char* all;
};

/// Times a small-M GEMM, over matrices used in turn.
void time_small_gemm(const char* name, int rows, int n, int k, bool gated, gpu::Type out_type) {
  if (!gpu::prefers_small_gemm(rows, n, k, gated)) return;
  const Matrices w((gated ? 2 : 1) * std::int64_t{n} * k);
  const Memory x = random_numbers(std::int64_t{rows} * k),
               y(static_cast<std::size_t>(rows) * static_cast<std::size_t>(n) * 4);
  const double us = microseconds(w.count, [&](cudaStream_t stream) {
    for (int i = 0; i < w.count; ++i)
      gpu::small_gemm({gpu::Type::bf16, out_type, gated, rows, n, k, n, x.get(), w[i], y.get()},
                      stream);
  });
  char what[80];
  std::snprintf(what, sizeof what, "product of %d rows, %s", rows, name);
  print_bytes(what, us, 2.0 * static_cast<double>(w.elements));
}

void time_few_rows(int rows) {
  time_small_gemm("QKV", rows, kHeads.qkv_width(), kHidden, false, gpu::Type::bf16);
  time_small_gemm("attention output", rows, kHidden, kHidden, false, gpu::Type::bf16);
  time_small_gemm("gate and up", rows, kMlp, kHidden, true, gpu::Type::bf16);
  time_small_gemm("down", rows, kHidden, kMlp, false, gpu::Type::bf16);
  time_small_gemm("logits", rows, kVocab, kHidden, false, gpu::Type::f32);
}

/// Times the gate and up product with SwiGLU of many rows, over matrices used in turn.
void time_gated(int rows) {
  if (!gpu::prefers_gated_gemm(rows, kMlp, kHidden)) return;
  const Matrices w(std::int64_t{2} * kMlp * kHidden);
  const Memory x = random_numbers(std::int64_t{rows + 128} * kHidden),
               y(static_cast<std::size_t>(rows) * kMlp * 2);
  const double us = microseconds(w.count, [&](cudaStream_t stream) {
    for (int i = 0; i < w.count; ++i)
      gpu::gated_gemm({gpu::Type::bf16, rows, rows + 128, kMlp, kHidden, x.get(), w[i], y.get()},
                      stream);
  });
  std::printf("gate and up with SwiGLU, %5d rows %10.2f us %7.1f TFLOP/s %8.0f GB/s of weights\n",
              rows, us, 2.0 * rows * static_cast<double>(w.elements) / us / 1e6,
              2.0 * static_cast<double>(w.elements) / us / 1e3);
}

}  // namespace

void time_products() {
  for (const int rows : {1, 8, 16, 32, 33, 48, 64, 65, 96, 128}) time_few_rows(rows);
  for (const int rows :
       {65, 96, 128, 160, 192, 256, 300, 384, 512, 700, 1024, 1500, 2048, 4096, 8192})
    time_gated(rows);
}

}  // namespace gpu_timing
