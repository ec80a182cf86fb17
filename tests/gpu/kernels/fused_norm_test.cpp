#include <algorithm>

#include "kernels/layers/layers.hpp"
#include "kernels/reference/layers.hpp"
#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

constexpr Type kType = Type::bf16;
constexpr float kEpsilon = 100;  // rows have mean squares of about 200

/// A product, an RMSNorm of `width` columns and a second product, which may be gated.
struct Pair {
  Pair(int rows, int width, bool gated, int outputs = 200)
      : rows(rows), width(width), inputs(rows > 64 ? 384 : 192), outputs(outputs), gated(gated) {
    Numbers numbers(static_cast<std::uint64_t>(rows + width));
    x = numbers.halves(kType, rows * inputs);
    w = numbers.halves(kType, width * inputs);
    norm = numbers.halves(kType, width);
    next = numbers.halves(kType, (gated ? 2 : 1) * outputs * std::int64_t{width});
    residual = numbers.many(rows * width);
  }

  /// Runs the first product `times` times, then the second, for the first `count` rows. Leaves the
  /// residual and the last outputs; nothing beyond these rows may be written.
  void compute(int count, int times = 1) {
    // `normed` has a row more, which is never written but can be read.
    const Device<std::uint16_t> d_x(x), d_w(w), d_norm(norm), d_next(next),
        normed(static_cast<std::size_t>((rows + 1) * width)),
        y(static_cast<std::size_t>(rows * outputs));
    const Device<float> d_residual(residual), squares(gpu::fused_norm_bytes() / sizeof(float));
    const auto product = [count](int n, int k, const Device<std::uint16_t>& from,
                                 const Device<std::uint16_t>& by, const Device<std::uint16_t>& to) {
      gpu::SmallGemm op;
      op.rows = count;
      op.n = op.y_stride = n;
      op.k = k;
      op.x = from.get();
      op.w = by.get();
      op.y = to.get();
      return op;
    };
    gpu::SmallGemm op = product(width, inputs, d_x, d_w, normed);
    op.after = {d_residual.get(), d_norm.get(), squares.get()};
    for (int i = 0; i < times; ++i) gpu::small_gemm(op, nullptr);
    op = product(outputs, width, normed, d_next, y);
    op.gated = gated;
    op.before = {squares.get(), kEpsilon};
    if (gated && count > gpu::kSmallGemmRowsWgmma)
      gpu::gated_gemm({.rows = count,
                       .x_rows = rows + 1,
                       .n = outputs,
                       .k = width,
                       .x = op.x,
                       .w = op.w,
                       .y = op.y,
                       .before = op.before},
                      nullptr);
    else
      gpu::small_gemm(op, nullptr);
    found = written(y, count, outputs);
    written(normed, count, width);
    found_residual = d_residual.host();
  }

  Floats expected_residual(int times = 1) const {
    Floats y(static_cast<std::size_t>(rows * width)), sum = residual;
    reference::linear(y.data(), to_floats(kType, x).data(), to_floats(kType, w).data(), rows, width,
                      inputs);
    y = to_floats(kType, to_halves(kType, y));
    for (int i = 0; i < times; ++i) reference::add(sum.data(), y.data(), rows * width);
    return sum;
  }

  Floats expected() const {
    Floats normed(static_cast<std::size_t>(rows * width));
    reference::rms_norm(normed.data(), expected_residual().data(), to_floats(kType, norm).data(),
                        rows, width, kEpsilon);
    const int products = (gated ? 2 : 1) * outputs;
    Floats y(static_cast<std::size_t>(rows * products));
    reference::linear(y.data(), normed.data(), to_floats(kType, next).data(), rows, products,
                      width);
    if (!gated) return y;
    Floats activated(static_cast<std::size_t>(rows * outputs));
    reference::swiglu(activated.data(), y.data(), rows, outputs);
    return activated;
  }

  int rows, width, inputs, outputs;
  bool gated;
  Floats residual, found, found_residual;

 private:
  /// The first `count` rows. Fails if others are no longer NaN.
  Floats written(const Device<std::uint16_t>& from, int count, int columns) const {
    Floats all = to_floats(kType, from.host());
    const auto end = all.begin() + count * columns;
    if (!std::all_of(end, all.end(), [](float x) { return std::isnan(x); }))
      FAIL("a row beyond " << count << " was written");
    all.erase(end, all.end());
    return all;
  }

  Halves x, w, norm, next;
};

/// Relative L2 distance that a row of `width` sums of 384 products, whose root mean square is 19.6,
/// may have from the reference's. A sum between 64 and 128 that is rounded the other way is off by
/// 0.5, so k of them are sqrt(k) 0.0255 / sqrt(width) of the row: this allows two.
double roundings(int width) { return 0.04 / std::sqrt(width); }

/// Compares both results with the reference's; the residual may be `allowed` away.
void check_norm(Pair pair, double allowed) {
  const int rows = pair.rows, width = pair.width;
  INFO(rows << " rows of " << width << ", then gated " << pair.gated);
  pair.compute(rows);
  check_rows(pair.found_residual, pair.expected_residual(), width, allowed);
  // Gate, up and their product each carry a rounding.
  check_rows(pair.found, pair.expected(), pair.outputs, (pair.gated ? 2 : 1) * rounding(kType));
}

/// Compares rows of smaller products with those of all rows.
void check_alike(Pair& pair, const std::vector<int>& fewer) {
  pair.compute(pair.rows);
  const Floats all = pair.found, residual = pair.found_residual;
  for (const int rows : fewer) {
    INFO(rows << " of " << pair.rows << " rows of " << pair.width << ", gated " << pair.gated);
    pair.compute(rows);
    CHECK(std::equal(pair.found.begin(), pair.found.end(), all.begin()));
    const auto end = rows * pair.width;
    CHECK(std::equal(residual.begin(), residual.begin() + end, pair.found_residual.begin()));
    CHECK(std::equal(pair.found_residual.begin() + end, pair.found_residual.end(),
                     pair.residual.begin() + end));
  }
}

}  // namespace

TEST_CASE("a norm fused into two products is the reference's norm between them", "[gpu]") {
  NEEDS_WGMMA;
  const int rows = GENERATE(1, 8, 9, 16, 17, 33, 64);
  // On 132 multiprocessors 1088 columns are CTAs of 16, 4160 of 32, and 4288 of 48, of which the
  // last has 16.
  const int width = GENERATE(128, 1088, 4160, 4288);
  check_norm({rows, width, GENERATE(false, true)}, 3e-4);
}

TEST_CASE("a norm fused into products of more than 64 rows is the reference's", "[gpu]") {
  NEEDS_WGMMA;
  const int rows = GENERATE(65, 97, 127, 128);
  const int width = GENERATE(128, 1152, 4224, 4352);
  check_norm({rows, width, GENERATE(false, true)}, roundings(width));
}

TEST_CASE("a norm before more tiles of gate and up than CTAs is the reference's", "[gpu]") {
  NEEDS_WGMMA;
  // On 132 multiprocessors one cluster of two CTAs has a second tile for each.
  check_norm({97, 128, true, 19'024}, roundings(128));
}

TEST_CASE("products one after another all add to the residual", "[gpu]") {
  NEEDS_WGMMA;
  for (const auto& [rows, width] : {std::pair{33, 4160}, {97, 4224}, {97, 4352}}) {
    INFO(rows << " rows of " << width);
    Pair pair(rows, width, false);
    pair.compute(rows, 5);
    check_rows(pair.found_residual, pair.expected_residual(5), width,
               rows > 64 ? roundings(width) : 3e-4);
  }
}

TEST_CASE("a row after a fused norm is bitwise the same in 1 to 64 rows, and in 65 to 128",
          "[gpu]") {
  NEEDS_WGMMA;
  const bool gated = GENERATE(false, true);
  for (const int width : {1088, 4288}) {
    Pair pair(64, width, gated);
    check_alike(pair, {1, 7, 9, 31, 33});
  }
  for (const int width : {1152, 4352}) {
    Pair pair(128, width, gated);
    check_alike(pair, {65, 97});
  }
}

TEST_CASE("products of one to 128 rows of bf16 fuse norms on compute capability 9.0", "[gpu]") {
  NEEDS_WGMMA;
  for (const bool gated : {false, true}) {
    for (const int rows : {1, 8, 9, 64}) CHECK(gpu::fuses_norms(rows, 64, 64, gated));
    for (const int rows : {65, 128}) CHECK(gpu::fuses_norms(rows, 64, 128, gated));
    CHECK_FALSE(gpu::fuses_norms(129, 64, 128, gated));
  }
  CHECK_FALSE(gpu::fuses_norms(65, 64, 64));  // two CTAs cannot share 64 columns
}

TEST_CASE("gate and up refuse a norm of f16, of too many rows and of too many columns", "[gpu]") {
  NEEDS_WGMMA;
  const Device<float> memory(64);
  gpu::GatedGemm op{.rows = 128, .x_rows = 128, .n = 64, .k = 128, .before = {memory.get()}};
  const auto refused = [](const gpu::GatedGemm& of) {
    CHECK_THROWS_AS(gpu::gated_gemm(of, nullptr), std::invalid_argument);
  };
  op.type = Type::f16;
  refused(op);
  op.type = Type::bf16;
  op.rows = op.x_rows = 129;
  refused(op);
  op.rows = op.x_rows = 100;
  op.k = 128 * 1024;
  refused(op);
  CHECK_FALSE(gpu::fuses_norms(op.rows, op.n, op.k, true));
}

TEST_CASE("a norm is refused by products of f16, in float32 or of more than 128 rows", "[gpu]") {
  NEEDS_DEVICE;
  const Device<float> memory(64);
  gpu::SmallGemm op;
  op.rows = 4;
  op.n = op.y_stride = op.k = 64;
  const bool before = GENERATE(false, true);
  if (before)
    op.before = {memory.get()};
  else
    op.after = {memory.get(), memory.get(), memory.get()};
  INFO("before the product: " << before);
  const auto refused = [](const gpu::SmallGemm& of) {
    CHECK_THROWS_AS(gpu::small_gemm(of, nullptr), std::invalid_argument);
  };
  op.type = op.out = Type::f16;
  refused(op);
  op.type = Type::bf16;
  op.out = Type::f32;
  refused(op);
  op.out = Type::bf16;
  op.rows = 65;
  refused(op);
  op.rows = 129;
  op.k = 128;
  refused(op);
  op.rows = 4;
  op.k = 64;
  op.gated = !before;
  op.before.squares = memory.get();
  op.after.residual = memory.get();
  refused(op);
}
