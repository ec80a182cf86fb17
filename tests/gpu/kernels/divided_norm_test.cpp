#include "kernels/layers/layers.hpp"
#include "kernels/reference/layers.hpp"
#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

constexpr Type kType = Type::bf16;
constexpr int kInputs = 192, kOutputs = 200;
constexpr float kEpsilon = 1e-3f;

/// A product, an RMSNorm of `width` columns and a second product, which may be gated.
struct Pair {
  Pair(int rows, int width, bool gated) : rows(rows), width(width), gated(gated) {
    Numbers numbers(static_cast<std::uint64_t>(rows + width));
    x = numbers.halves(kType, rows * kInputs);
    w = numbers.halves(kType, width * kInputs);
    norm = numbers.halves(kType, width);
    next = numbers.halves(kType, (gated ? 2 : 1) * kOutputs * std::int64_t{width});
    residual = numbers.many(rows * width);
  }

  /// Runs both products for the first `count` rows; leaves the residual and the last outputs.
  void compute(int count) {
    const auto elements = [&](int columns) { return static_cast<std::size_t>(count * columns); };
    const Device<std::uint16_t> d_x(x), d_w(w), d_norm(norm), d_next(next), normed(elements(width)),
        y(elements(kOutputs));
    const Device<float> d_residual(residual), squares(gpu::norm_squares_bytes() / sizeof(float));
    gpu::SmallGemm op;
    op.rows = count;
    op.n = op.y_stride = width;
    op.k = kInputs;
    op.x = d_x.get();
    op.w = d_w.get();
    op.y = normed.get();
    op.after = {d_residual.get(), d_norm.get(), squares.get()};
    gpu::small_gemm(op, nullptr);
    op = {};
    op.gated = gated;
    op.rows = count;
    op.n = op.y_stride = kOutputs;
    op.k = width;
    op.x = normed.get();
    op.w = d_next.get();
    op.y = y.get();
    op.before = {squares.get(), kEpsilon};
    gpu::small_gemm(op, nullptr);
    found = to_floats(kType, y.host());
    found_residual = d_residual.host();
  }

  Floats expected_residual() const {
    Floats y(static_cast<std::size_t>(rows * width)), sum = residual;
    reference::linear(y.data(), to_floats(kType, x).data(), to_floats(kType, w).data(), rows, width,
                      kInputs);
    y = to_floats(kType, to_halves(kType, y));
    reference::add(sum.data(), y.data(), rows * width);
    return sum;
  }

  Floats expected() const {
    Floats normed(static_cast<std::size_t>(rows * width));
    reference::rms_norm(normed.data(), expected_residual().data(), to_floats(kType, norm).data(),
                        rows, width, kEpsilon);
    const int outputs = (gated ? 2 : 1) * kOutputs;
    Floats y(static_cast<std::size_t>(rows * outputs));
    reference::linear(y.data(), normed.data(), to_floats(kType, next).data(), rows, outputs, width);
    if (!gated) return y;
    Floats activated(static_cast<std::size_t>(rows * kOutputs));
    reference::swiglu(activated.data(), y.data(), rows, kOutputs);
    return activated;
  }

  int rows, width;
  bool gated;
  Floats residual, found, found_residual;

 private:
  Halves x, w, norm, next;
};

}  // namespace

TEST_CASE("a norm divided between two products is the reference's norm between them", "[gpu]") {
  NEEDS_WGMMA;
  const int rows = GENERATE(1, 8, 9, 16, 17, 33, 64);
  // 1088 columns end within a CTA's 48, 4160 are 130 CTAs of 32.
  const int width = GENERATE(128, 1088, 4160);
  const bool gated = GENERATE(false, true);
  INFO(rows << " rows of " << width << ", then gated " << gated);
  Pair pair(rows, width, gated);
  pair.compute(rows);
  check_rows(pair.found_residual, pair.expected_residual(), width,
             3e-4);  // some are rounded otherwise
  // Gate, up and their product each carry a rounding.
  check_rows(pair.found, pair.expected(), kOutputs, (gated ? 2 : 1) * rounding(kType));
}

TEST_CASE("a row behind a divided norm is bitwise the same however many rows there are", "[gpu]") {
  NEEDS_WGMMA;
  const bool gated = GENERATE(false, true);
  Pair pair(64, 1088, gated);
  pair.compute(64);
  const Floats all = pair.found, residual = pair.found_residual;
  for (const int rows : {1, 7, 9, 31, 33}) {
    INFO(rows << " rows, gated " << gated);
    pair.compute(rows);
    CHECK(std::equal(pair.found.begin(), pair.found.end(), all.begin()));
    const std::size_t written = static_cast<std::size_t>(rows * pair.width);
    CHECK(std::equal(residual.begin(), residual.begin() + static_cast<std::ptrdiff_t>(written),
                     pair.found_residual.begin()));
    CHECK(std::equal(pair.found_residual.begin() + static_cast<std::ptrdiff_t>(written),
                     pair.found_residual.end(),
                     pair.residual.begin() + static_cast<std::ptrdiff_t>(written)));
  }
}

TEST_CASE("norms are divided only among products that can", "[gpu]") {
  NEEDS_DEVICE;
  Device<float> memory(64);
  gpu::SmallGemm op;
  op.rows = 4;
  op.n = op.y_stride = op.k = 64;
  op.after = {memory.get(), memory.get(), memory.get()};
  const auto refused = [](const gpu::SmallGemm& of) {
    CHECK_THROWS_AS(gpu::small_gemm(of, nullptr), std::invalid_argument);
  };
  op.type = op.out = Type::f16;
  refused(op);
  op.type = Type::bf16;
  op.out = Type::f32;
  refused(op);
  op.out = Type::bf16;
  op.gated = true;
  refused(op);
  op.gated = false;
  op.rows = 65;
  refused(op);
  CHECK_FALSE(gpu::divides_norms(65, 64, 64));
}
