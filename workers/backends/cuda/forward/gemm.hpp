#pragma once
#include <map>
#include <memory>
#include <span>

#include "kernels/device/types.hpp"
#include "workers/backends/cuda/device/cublas_lt.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/forward/gemm_table.hpp"

namespace backends::cuda {

/// y [rows][y_stride] = x [rows][k] * w [n][k]^T, row-major, sums in float32.
struct GemmShape {
  int rows = 0;
  int n = 0;
  int k = 0;         // multiple of 8
  int y_stride = 0;  // elements between rows of y, at least n, a multiple of 8
  kernels::gpu::Type in = kernels::gpu::Type::bf16;   // of x and w
  kernels::gpu::Type out = kernels::gpu::Type::bf16;  // of y
  auto operator<=>(const GemmShape&) const = default;
};

/// Matrix products by cublasLt on one stream. A shape uses the algorithm that `table` has for its
/// number of rows, or for the next larger tuned number; otherwise the first of cublasLt's
/// heuristics. It is looked up once, so the same shape always runs the same algorithm.
class Gemm {
 public:
  /// Allocates its workspace on the device. `table` is borrowed.
  Gemm(const Stream& stream, GemmTable& table);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// x, w and y on the device, starting at multiples of 256 bytes.
  void multiply(const GemmShape& shape, const void* x, const void* w, void* y);

  /// Numbers of rows for which algorithms are measured, ascending.
  static std::span<const int> tuned_sizes();
  /// Measures the algorithms that cublasLt proposes for a shape of tuned_sizes() and puts the
  /// fastest into the table, unless the table has the shape. The products cycle through all of
  /// `weights`, so that no cache holds them, and write y. Call before the first multiply() with
  /// this many rows.
  void tune(const GemmShape& shape, const void* x, std::span<const void* const> weights, void* y);

  static constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

 private:
  struct Product;
  Product& product(const GemmShape& shape);
  bool choose_measured(const GemmShape& shape, Product& product);
  double time(Product& product, const void* x, std::span<const void* const> weights, void* y);
  void run(Product& product, const void* x, const void* w, void* y);

  const Stream& stream_;
  GemmTable& table_;
  CublasLt handle_;
  DeviceBuffer workspace_;
  std::map<GemmShape, std::unique_ptr<Product>> products_;
};

}  // namespace backends::cuda
