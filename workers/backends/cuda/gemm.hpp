#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "kernels/device/types.hpp"
#include "workers/backends/cuda/handles.hpp"

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

/// Matrix products by cublasLt on one stream. Descriptors and the algorithm of a shape are found
/// once; the same shape always runs the same algorithm.
class Gemm {
 public:
  /// Takes its workspace from the device.
  explicit Gemm(const Stream& stream);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// x, w and y on the device, starting at multiples of 256 bytes.
  void multiply(const GemmShape& shape, const void* x, const void* w, void* y);

  static constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

 private:
  struct Product;
  Product& product(const GemmShape& shape);

  const Stream& stream_;
  CublasLt handle_;
  DeviceBuffer workspace_;
  std::map<GemmShape, std::unique_ptr<Product>> products_;
};

}  // namespace backends::cuda
