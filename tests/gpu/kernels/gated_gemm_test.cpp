#include <algorithm>
#include <utility>

#include "kernels/device/tile_sizes.hpp"
#include "kernels/layers/layers.hpp"
#include "kernels/reference/layers.hpp"
#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

/// A gate and up product of numbers from one seed, on host and device.
struct GatedProduct {
  GatedProduct(Type type, int rows, int n, int k) : rows(rows), n(n), k(k), type(type) {
    Numbers numbers(static_cast<std::uint64_t>(rows + n + k));
    x = numbers.halves(type, rows * k);
    w = numbers.halves(type, 2 * std::int64_t{n} * k);
  }

  Floats expected() const {
    Floats y(static_cast<std::size_t>(rows * 2 * n)), activated(static_cast<std::size_t>(rows * n));
    reference::linear(y.data(), to_floats(type, x).data(), to_floats(type, w).data(), rows, 2 * n,
                      k);
    reference::swiglu(activated.data(), y.data(), rows, n);
    return activated;
  }

  /// The first `count` rows, from the device; nothing beyond them may be written.
  Floats computed(int count) const {
    Halves readable = x;
    readable.resize(static_cast<std::size_t>((rows + beyond) * k), 0xffff);  // NaN
    const Device<std::uint16_t> d_x(readable), d_w(w),
        d_y(static_cast<std::size_t>((rows + 1) * n));
    gpu::gated_gemm({type, count, rows + beyond, n, k, d_x.get(), d_w.get(), d_y.get()}, nullptr);
    Floats y = to_floats(type, d_y.host());
    const auto end = y.begin() + std::ptrdiff_t{count} * n;
    CHECK(std::all_of(end, y.end(), [](float left) { return std::isnan(left); }));
    y.erase(end, y.end());
    return y;
  }

  int rows, n, k;
  int beyond = 0;  // rows of x, all NaN, that can be read behind those that count

 private:
  Type type;
  Halves x, w;
};

}  // namespace

TEST_CASE("gate and up of many rows are the reference's, whatever their shape", "[gpu]") {
  NEEDS_WGMMA;
  for (const Type type : kHalfTypes)
    for (const int rows : {1, 65, 128, 129, 256, 300, 1100})
      for (const int n : {8, 112, 232, 1048})
        for (const int k : {8, 64, 200, 2104}) {
          if (rows * n > 40'000 && k > 200 && (rows != 300 || type != Type::bf16)) continue;
          INFO(name(type) << ", " << rows << " x " << n << " x " << k);
          const GatedProduct product(type, rows, n, k);
          check_rows(product.computed(rows), product.expected(), n, rounding(type));
        }
}

TEST_CASE("gate and up of one tile of rows are the reference's, whatever tile their width takes",
          "[gpu]") {
  NEEDS_WGMMA;
  // With 13 chunks of columns each stage is refilled. The last CTA has eight outputs fewer.
  for (const int outputs : {64, 80, 96, 112, 144})
    for (const auto& [type, rows] : {std::pair{Type::bf16, 128}, {Type::f16, 65}}) {
      const int n = outputs * gpu::multiprocessors() - 8;
      INFO(name(type) << ", " << rows << " x " << n);
      const GatedProduct product(type, rows, n, 832);
      check_rows(product.computed(rows), product.expected(), n, rounding(type));
    }
}

TEST_CASE("gate and up of up to 192 rows are the reference's when one tile has them all", "[gpu]") {
  NEEDS_WGMMA;
  // Outputs between half a wave of tiles and one; with 13 chunks each stage is refilled.
  for (const int n : {56 * gpu::multiprocessors() + 8, 112 * gpu::multiprocessors() - 8})
    for (const auto& [type, rows] :
         {std::pair{Type::bf16, 129}, {Type::bf16, 192}, {Type::f16, 160}}) {
      INFO(name(type) << ", " << rows << " x " << n);
      const GatedProduct product(type, rows, n, 832);
      check_rows(product.computed(rows), product.expected(), n, rounding(type));
    }
}

TEST_CASE("what rows of x behind the last one hold does not matter", "[gpu]") {
  NEEDS_WGMMA;
  for (const auto& [rows, n] :
       {std::pair{65, 232}, {130, 56 * gpu::multiprocessors() + 8}, {300, 232}}) {
    GatedProduct product(Type::bf16, rows, n, 200);
    product.beyond = GENERATE(1, 100, 500);
    check_rows(product.computed(rows), product.expected(), product.n, rounding(Type::bf16));
  }
}

TEST_CASE("more tiles than clusters are all computed", "[gpu]") {
  NEEDS_WGMMA;
  const int rows = GENERATE(385, 2304);
  const GatedProduct product(Type::bf16, rows, 8'064, 72);
  check_rows(product.computed(rows), product.expected(), product.n, rounding(Type::bf16));
}

TEST_CASE("a row of gate and up is bitwise the same however many rows there are", "[gpu]") {
  NEEDS_WGMMA;
  const GatedProduct product(Type::bf16, 1'300, 2'064, 4'096);
  const Floats all = product.computed(1'300);
  for (const int rows : {1, 65, 128, 200, 384, 700, 1'299}) {
    INFO(rows << " rows");
    const Floats some = product.computed(rows);
    CHECK(std::equal(some.begin(), some.end(), all.begin()));
  }
}

TEST_CASE("a row of gate and up is bitwise the same in tiles of any size", "[gpu]") {
  NEEDS_WGMMA;
  // Up to 128 rows the width decides. Beyond, 112 outputs are a tile, and up to 192 rows one tile
  // may have all rows.
  for (const int outputs : {64, 80, 96, 144}) {
    const GatedProduct product(Type::bf16, 193, outputs * gpu::multiprocessors() - 8, 192);
    const Floats all = product.computed(193);
    for (const int rows : {128, 129, 192}) {
      INFO(outputs << " outputs, " << rows << " rows");
      const Floats some = product.computed(rows);
      CHECK(std::equal(some.begin(), some.end(), all.begin()));
    }
  }
}

TEST_CASE("a tile of a gated product is the smallest of one wave", "[gpu]") {
  NEEDS_DEVICE;
  const int ctas = gpu::multiprocessors();
  CHECK(gpu::GatedTiles::of(8) == 64);
  CHECK(gpu::GatedTiles::of(64 * ctas) == 64);
  CHECK(gpu::GatedTiles::of(64 * ctas + 8) == 80);
  CHECK(gpu::GatedTiles::of(112 * ctas) == 112);
  CHECK(gpu::GatedTiles::of(112 * ctas + 8) == 144);
  CHECK(gpu::GatedTiles::of(1000 * ctas) == 144);
}

TEST_CASE("all rows are one tile if that is one wave, and two tiles of 128 rows are two", "[gpu]") {
  CHECK(gpu::prefers_one_row_tile(129, 67, 132));
  CHECK(gpu::prefers_one_row_tile(192, 132, 132));
  CHECK_FALSE(gpu::prefers_one_row_tile(193, 128, 132));
  CHECK_FALSE(gpu::prefers_one_row_tile(192, 66, 132));
  CHECK_FALSE(gpu::prefers_one_row_tile(192, 133, 132));
  CHECK_FALSE(gpu::prefers_one_row_tile(192, 1, 132));
}

TEST_CASE("gate and up of shapes that the kernel does not know are refused", "[gpu]") {
  NEEDS_DEVICE;
  CHECK_FALSE(gpu::prefers_gated_gemm(gpu::kSmallGemmRowsWgmma, 14'336, 4'096));
  CHECK_FALSE(gpu::prefers_gated_gemm(128, 36, 64));
  const auto refused = [](int rows, int x_rows, int n, int k) {
    CHECK_THROWS_AS(gpu::gated_gemm({Type::bf16, rows, x_rows, n, k}, nullptr),
                    std::invalid_argument);
  };
  refused(128, 128, 36, 64);
  refused(128, 128, 32, 60);
  refused(128, 127, 32, 64);
}
