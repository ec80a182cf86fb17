#include "workers/backends/cuda/gemm.hpp"

#include <string>

namespace backends::cuda {
namespace {

constexpr std::uint32_t kAlignment = 256;

cudaDataType_t cuda_type(kernels::gpu::Type type) {
  switch (type) {
    case kernels::gpu::Type::bf16:
      return CUDA_R_16BF;
    case kernels::gpu::Type::f16:
      return CUDA_R_16F;
    case kernels::gpu::Type::f32:
      break;
  }
  return CUDA_R_32F;
}

class Layout {
 public:
  /// Column-major, as cublasLt sees it.
  Layout(kernels::gpu::Type type, int rows, int cols, int stride) {
    check(cublasLtMatrixLayoutCreate(&raw_, cuda_type(type), static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(cols), stride),
          "describing a matrix");
  }
  Layout(const Layout&) = delete;
  ~Layout() { cublasLtMatrixLayoutDestroy(raw_); }
  cublasLtMatrixLayout_t get() const { return raw_; }

 private:
  cublasLtMatrixLayout_t raw_ = nullptr;
};

class Preference {
 public:
  Preference() {
    check(cublasLtMatmulPreferenceCreate(&raw_), "cublasLt preferences");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{Gemm::kWorkspaceBytes});
    // Partial sums of a split product stay float32, and are added in a fixed order.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(operand, kAlignment);
  }
  Preference(const Preference&) = delete;
  ~Preference() { cublasLtMatmulPreferenceDestroy(raw_); }
  cublasLtMatmulPreference_t get() const { return raw_; }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    check(cublasLtMatmulPreferenceSetAttribute(raw_, attribute, &value, sizeof value),
          "cublasLt preferences");
  }
  cublasLtMatmulPreference_t raw_ = nullptr;
};

class Operation {
 public:
  Operation() {
    check(cublasLtMatmulDescCreate(&raw_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check(cublasLtMatmulDescSetAttribute(raw_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                         sizeof transposed),
          "describing a product");
  }
  Operation(const Operation&) = delete;
  ~Operation() { cublasLtMatmulDescDestroy(raw_); }
  cublasLtMatmulDesc_t get() const { return raw_; }

 private:
  cublasLtMatmulDesc_t raw_ = nullptr;
};

}  // namespace

/// cublasLt is column-major: it sees w as [k][n] and takes it transposed, x as [k][rows], and
/// writes y as [n][rows], so its "m" is n and its "n" is the number of rows.
struct Gemm::Product {
  Operation operation;
  Layout w, x, y;
  cublasLtMatmulAlgo_t algorithm{};

  explicit Product(const GemmShape& s)
      : w(s.in, s.k, s.n, s.k), x(s.in, s.k, s.rows, s.k), y(s.out, s.n, s.rows, s.y_stride) {}
};

Gemm::Gemm(const Stream& stream) : stream_(stream), workspace_(kWorkspaceBytes) {}
Gemm::~Gemm() = default;

Gemm::Product& Gemm::product(const GemmShape& shape) {
  std::unique_ptr<Product>& found = products_[shape];
  if (found) return *found;
  auto made = std::make_unique<Product>(shape);
  const Preference preference;
  cublasLtMatmulHeuristicResult_t best{};
  int results = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle_.get(), made->operation.get(), made->w.get(),
                                       made->x.get(), made->y.get(), made->y.get(),
                                       preference.get(), 1, &best, &results),
        ("an algorithm for " + std::to_string(shape.rows) + " x " + std::to_string(shape.n) +
         " x " + std::to_string(shape.k))
            .c_str());
  if (results == 0)
    throw DeviceError("cublasLt knows no algorithm for a product of " + std::to_string(shape.rows) +
                      " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k));
  made->algorithm = best.algo;
  found = std::move(made);
  return *found;
}

void Gemm::multiply(const GemmShape& shape, const void* x, const void* w, void* y) {
  Product& p = product(shape);
  const float one = 1, zero = 0;
  check(cublasLtMatmul(handle_.get(), p.operation.get(), &one, w, p.w.get(), x, p.x.get(), &zero, y,
                       p.y.get(), y, p.y.get(), &p.algorithm, workspace_.data(), kWorkspaceBytes,
                       stream_.get()),
        "a matrix product");
}

}  // namespace backends::cuda
