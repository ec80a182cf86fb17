#include <algorithm>

#include "kernels/device/capability.hpp"
#include "kernels/layers/layers.hpp"
#include "kernels/reference/layers.hpp"
#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

/// A product of numbers from one seed, on host and device.
struct Product {
  Product(Type type, Type out_type, bool gated, int rows, int n, int k)
      : out(out_type), gated(gated), rows(rows), n(n), k(k), type(type) {
    Numbers numbers(static_cast<std::uint64_t>(rows + n + k));
    x = numbers.halves(type, rows * k);
    w = numbers.halves(type, (gated ? 2 : 1) * std::int64_t{n} * k);
  }

  Floats expected() const {
    const int outputs = gated ? 2 * n : n;
    Floats y(static_cast<std::size_t>(rows * outputs));
    reference::linear(y.data(), to_floats(type, x).data(), to_floats(type, w).data(), rows, outputs,
                      k);
    if (!gated) return y;
    Floats activated(static_cast<std::size_t>(rows * n));
    reference::swiglu(activated.data(), y.data(), rows, n);
    return activated;
  }

  /// The first `count` rows, from the device; nothing beyond them may be written.
  Floats computed(int count) const {
    const int stride = n + 8;
    const Device<std::uint16_t> d_x(x), narrow(static_cast<std::size_t>(rows * stride));
    const Device<float> wide(static_cast<std::size_t>(rows * stride));
    const bool is_wide = out == Type::f32;
    compute(count, d_x.get(), is_wide ? static_cast<void*>(wide.get()) : narrow.get());
    const Floats all = is_wide ? wide.host() : to_floats(type, narrow.host());
    Floats y;
    for (int row = 0; row < rows; ++row)
      for (int i = 0; i < stride; ++i) {
        const float found = all[static_cast<std::size_t>(row * stride + i)];
        if (row < count && i < n)
          y.push_back(found);
        else if (!std::isnan(found))
          FAIL("row " << row << ", element " << i << " was written");
      }
    return y;
  }

  /// Computes rows that are not numbers, which leaves some in shared memory.
  void poison_shared(int count) const {
    Device<std::uint16_t> nan(static_cast<std::size_t>(count * k));
    const Device<std::uint32_t> y(static_cast<std::size_t>(count * (n + 8)));
    nan.poison();
    compute(count, nan.get(), y.get());
  }

  Type out;
  bool gated;
  int rows, n, k;

 private:
  void compute(int count, const std::uint16_t* from, void* to) const {
    const Device<std::uint16_t> d_w(w);
    gpu::SmallGemm op;
    op.type = type;
    op.out = out;
    op.gated = gated;
    op.rows = count;
    op.n = n;
    op.k = k;
    op.y_stride = n + 8;
    op.x = from;
    op.w = d_w.get();
    op.y = to;
    gpu::small_gemm(op, nullptr);
    check(cudaDeviceSynchronize());
  }

  Type type;
  Halves x, w;
};

}  // namespace

TEST_CASE("small-M products are the reference's, whatever their shape", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int rows : {1, 2, 3, 7, 8})
      for (const int n : {16, 528, 6400})
        for (const int k : {32, 64, 288, 4096, 2080}) {
          if (n == 6400 && k > 288 && rows != 3) continue;
          for (const bool gated : {false, true}) {
            INFO(name(type) << ", " << rows << " x " << n << " x " << k << ", gated " << gated);
            const Product product(type, type, gated, rows, n, k);
            check_rows(product.computed(rows), product.expected(), n, rounding(type));
          }
        }
}

TEST_CASE("small-M products can be left in float32", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes) {
    const Product product(type, Type::f32, false, 5, 1040, 1056);
    check_rows(product.computed(5), product.expected(), product.n, 1e-5);
  }
}

TEST_CASE("a row of a product is bitwise the same however many rows there are", "[gpu]") {
  NEEDS_DEVICE;
  const Product product(Type::bf16, Type::bf16, true, 8, 2064, 4096);
  const Floats all = product.computed(8);
  for (const int rows : {1, 2, 5, 7}) {
    const Floats some = product.computed(rows);
    CHECK(std::equal(some.begin(), some.end(), all.begin()));
  }
}

TEST_CASE("products of 9 to 64 rows are the reference's, whatever their shape", "[gpu]") {
  NEEDS_WGMMA;
  for (const Type type : kHalfTypes)
    for (const int rows : {9, 16, 17, 32, 33, 64})
      for (const int n : {8, 136, 1048, 2136, 4232})
        for (const int k : {64, 192, 2112}) {
          if (n > 136 && k > 192 && (rows != 33 || n > 1048)) continue;
          for (const bool gated : {false, true}) {
            INFO(name(type) << ", " << rows << " x " << n << " x " << k << ", gated " << gated);
            const Product product(type, type, gated, rows, n, k);
            check_rows(product.computed(rows), product.expected(), n, rounding(type));
          }
        }
}

TEST_CASE("gated products are the reference's, whatever tile their width takes", "[gpu]") {
  NEEDS_WGMMA;
  struct Size {
    int rows, k;
  };
  // With 17 chunks of columns each stage is refilled. The last CTA has eight outputs fewer.
  for (const int outputs : {64, 80, 96, 112, 144})
    for (const Size size : {Size{8, 1088}, Size{24, 192}, Size{40, 192}})
      for (const Type type : kHalfTypes) {
        const int n = outputs * gpu::multiprocessors() - 8;
        INFO(name(type) << ", " << size.rows << " x " << n << " x " << size.k);
        const Product product(type, type, true, size.rows, n, size.k);
        check_rows(product.computed(size.rows), product.expected(), n, rounding(type));
      }
}

TEST_CASE("small-M kernels are chosen from 70 % of the multiprocessors on", "[gpu]") {
  NEEDS_WGMMA;
  constexpr int kRows = 32, kColumns = 8192;  // of w, a CTA
  const int enough = (7 * gpu::multiprocessors() + 9) / 10;
  CHECK(gpu::prefers_small_gemm(9, kRows * enough, kColumns));
  CHECK_FALSE(gpu::prefers_small_gemm(9, kRows * (enough - 1), kColumns));
}

TEST_CASE("a CTA has the fewest rows of w, 16, 32 or 48, that make one wave", "[gpu]") {
  NEEDS_WGMMA;
  const int ctas = gpu::multiprocessors();
  CHECK(gpu::fused_norm_parts(16 * ctas) == ctas);
  CHECK(gpu::fused_norm_parts(16 * ctas + 8) == ctas / 2 + 1);  // of 32 rows
  CHECK(gpu::fused_norm_parts(32 * ctas) == ctas);
  CHECK(gpu::fused_norm_parts(48 * ctas) == ctas);
}

TEST_CASE("what lies past x in shared memory does not matter", "[gpu]") {
  NEEDS_WGMMA;
  for (const Type type : kHalfTypes)
    for (const bool gated : {false, true})
      for (const int rows : {33, 65}) {
        if (gated && rows > gpu::kSmallGemmRowsWgmma) continue;
        INFO(name(type) << ", " << rows << " rows, gated " << gated);
        const Product product(type, type, gated, 128, 4096, 1152);
        const Floats alone = product.computed(rows);
        product.poison_shared(rows > gpu::kSmallGemmRowsWgmma ? 128 : gpu::kSmallGemmRowsWgmma);
        CHECK(product.computed(rows) == alone);
      }
}

TEST_CASE("products of 65 to 128 rows are the reference's, whatever their shape", "[gpu]") {
  NEEDS_WGMMA;
  for (const Type type : kHalfTypes)
    for (const int rows : {65, 96, 127, 128})
      for (const int n : {8, 136, 1048, 2136, 4232})
        for (const int k : {128, 384, 2176}) {
          if (n > 136 && k > 384 && (rows != 96 || n > 1048)) continue;
          INFO(name(type) << ", " << rows << " x " << n << " x " << k);
          const Product product(type, type, false, rows, n, k);
          check_rows(product.computed(rows), product.expected(), n, rounding(type));
        }
}

TEST_CASE("products of up to 128 rows can be left in float32", "[gpu]") {
  NEEDS_WGMMA;
  for (const Type type : kHalfTypes)
    for (const int rows : {1, 9, 21, 64, 97})
      for (const int n : {1040, 4096, 4232, 6144}) {
        if (n % 16 != 0 && rows <= 8) continue;
        INFO(name(type) << ", " << rows << " x " << n);
        const Product product(type, Type::f32, false, rows, n, rows > 64 ? 1152 : 1088);
        check_rows(product.computed(rows), product.expected(), product.n, 1e-5);
      }
}

namespace {

/// Compares rows of smaller products with those of this one.
void check_alike(const Product& product, const std::vector<int>& fewer) {
  const Floats all = product.computed(product.rows);
  for (const int rows : fewer) {
    INFO(rows << " of " << product.rows << " rows of " << product.n << " x " << product.k
              << ", gated " << product.gated << ", in float32 " << (product.out == Type::f32));
    const Floats some = product.computed(rows);
    CHECK(std::equal(some.begin(), some.end(), all.begin()));
  }
}

}  // namespace

TEST_CASE("a row is bitwise the same in products of 9 to 64 rows, and of 65 to 128", "[gpu]") {
  NEEDS_WGMMA;
  const Type type = GENERATE(Type::bf16, Type::f16);
  const std::vector<int> from_9 = {9, 16, 17, 31, 33}, from_1 = {1, 8, 9, 16, 17, 31, 33};
  // The kernels for compute capability 9.0 also compute up to eight rows of small products, and of
  // those with at least 70 % as many CTAs as multiprocessors. So a row may be alone. On 132
  // multiprocessors a CTA has 16 rows of w up to n = 2112, 32 up to 4224, and else 48.
  for (const bool gated : {false, true}) {
    check_alike({type, type, gated, 64, 2064, 2048}, from_9);
    check_alike({type, type, gated, 64, 2040, 2048}, from_1);
  }
  for (const int n : {2136, 4232}) check_alike({type, type, false, 64, n, 2048}, from_9);
  for (const int n : {2048, 4096, 6336})
    for (const Type out : {type, Type::f32})
      check_alike({type, out, false, 128, n, 2176}, {65, 100});
  // One chunk of columns, and an odd number of them.
  for (const int k : {64, 2112})
    for (const int n : {1976, 4096, 6144})
      for (const Type out : {type, Type::f32}) check_alike({type, out, false, 64, n, k}, from_1);
}

TEST_CASE("a product of many columns is the reference's every time", "[gpu]") {
  NEEDS_WGMMA;
  const int rows = GENERATE(1, 16, 32, 33, 64, 65), n = GENERATE(2040, 4200, 6144);
  INFO(rows << " rows, n " << n);
  const int k = n < 6144 ? 14336 : rows > 64 ? 4224 : 4160;
  const Product product(Type::bf16, Type::bf16, false, rows, n, k);
  const Floats first = product.computed(rows);
  check_rows(first, product.expected(), product.n, rounding(Type::bf16));
  for (int again = 0; again < 20; ++again) CHECK(product.computed(rows) == first);
}

TEST_CASE("too many rows, and shapes that kernels do not know, are refused", "[gpu]") {
  NEEDS_DEVICE;
  const auto refused = [](const gpu::SmallGemm& op) {
    CHECK_THROWS_AS(gpu::small_gemm(op, nullptr), std::invalid_argument);
  };
  gpu::SmallGemm op;
  op.n = 32;
  op.k = 128;
  op.rows = 129;
  refused(op);
  op.rows = 65;
  op.gated = true;
  refused(op);
  op.gated = false;
  op.k = 64;  // half of which is no whole chunk
  refused(op);
  op.rows = 0;
  gpu::small_gemm(op, nullptr);
  op.n = 24;
  refused(op);
  op.n = 32;
  op.k = 48;
  refused(op);
  op.k = 64;
  op.gated = true;
  op.out = Type::f32;
  refused(op);
  op.gated = false;
  op.rows = 9;
  op.k = 96;
  refused(op);
  op.k = 64;
  op.n = 36;
  refused(op);
  op.n = 1 << 20;
  refused(op);
  CHECK_FALSE(gpu::prefers_small_gemm(9, op.n, op.k));
}
