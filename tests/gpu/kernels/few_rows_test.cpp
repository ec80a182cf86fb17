#include "kernels/device/layers.hpp"
#include "kernels/reference/activation.hpp"
#include "kernels/reference/linear.hpp"
#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

/// A product on numbers from one seed, on both machines.
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
    const Device<std::uint16_t> d_x(x), d_w(w), narrow(static_cast<std::size_t>(rows * stride));
    const Device<float> wide(static_cast<std::size_t>(rows * stride));
    const bool is_wide = out == Type::f32;
    gpu::FewRows op;
    op.type = type;
    op.out = out;
    op.gated = gated;
    op.rows = count;
    op.n = n;
    op.k = k;
    op.y_stride = stride;
    op.x = d_x.get();
    op.w = d_w.get();
    op.y = is_wide ? static_cast<void*>(wide.get()) : narrow.get();
    gpu::few_rows(op, nullptr);
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

  Type out;
  bool gated;
  int rows, n, k;

 private:
  Type type;
  Halves x, w;
};

}  // namespace

TEST_CASE("products of few rows are the reference's, whatever their shape", "[gpu]") {
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

TEST_CASE("products of few rows can be left in float32", "[gpu]") {
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

TEST_CASE("more rows than a few, and shapes that tiles do not divide, are refused", "[gpu]") {
  NEEDS_DEVICE;
  gpu::FewRows op;
  op.n = 32;
  op.k = 64;
  op.rows = 9;
  CHECK_THROWS_AS(gpu::few_rows(op, nullptr), std::invalid_argument);
  op.rows = 0;
  gpu::few_rows(op, nullptr);
  op.n = 24;
  CHECK_THROWS_AS(gpu::few_rows(op, nullptr), std::invalid_argument);
  op.n = 32;
  op.k = 48;
  CHECK_THROWS_AS(gpu::few_rows(op, nullptr), std::invalid_argument);
  op.k = 64;
  op.gated = true;
  op.out = Type::f32;
  CHECK_THROWS_AS(gpu::few_rows(op, nullptr), std::invalid_argument);
}
