#include "workers/backends/cuda/forward/gemm.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace backends::cuda {
namespace {

constexpr std::uint32_t kPointerAlignment = 256;

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

void destroy(cublasLtMatrixLayout_t layout) { cublas_lt().MatrixLayoutDestroy(layout); }
void destroy(cublasLtMatmulPreference_t preference) {
  cublas_lt().MatmulPreferenceDestroy(preference);
}
void destroy(cublasLtMatmulDesc_t product) { cublas_lt().MatmulDescDestroy(product); }

template <class Raw>
using LtHandle = Handle<Raw, static_cast<void (*)(Raw)>(destroy)>;

class Layout : public LtHandle<cublasLtMatrixLayout_t> {
 public:
  /// Column-major, as cublasLt sees it.
  Layout(kernels::gpu::Type type, int rows, int cols, int stride) {
    check(cublas_lt().MatrixLayoutCreate(&raw_, cuda_type(type), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(cols), stride),
          "describing a matrix");
  }
};

class Preference : public LtHandle<cublasLtMatmulPreference_t> {
 public:
  Preference() {
    check(cublas_lt().MatmulPreferenceCreate(&raw_), "cublasLt preferences");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{Gemm::kWorkspaceBytes});
    // Partial sums of a split-K product stay float32 and are added in a fixed order.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(operand, kPointerAlignment);
  }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    check(cublas_lt().MatmulPreferenceSetAttribute(raw_, attribute, &value, sizeof value),
          "cublasLt preferences");
  }
};

class Operation : public LtHandle<cublasLtMatmulDesc_t> {
 public:
  Operation() {
    check(cublas_lt().MatmulDescCreate(&raw_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "describing a product");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check(cublas_lt().MatmulDescSetAttribute(raw_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                             sizeof transposed),
          "describing a product");
  }
};

}  // namespace

/// cublasLt is column-major: it reads w as [k][n] and transposes it, reads x as [k][rows], and
/// writes y as [n][rows]. Its "m" is n and its "n" is the number of rows.
struct Gemm::Product {
  Operation operation;
  Layout w, x, y;
  cublasLtMatmulAlgo_t algorithm{};

  explicit Product(const GemmShape& s)
      : w(s.in, s.k, s.n, s.k), x(s.in, s.k, s.rows, s.k), y(s.out, s.n, s.rows, s.y_stride) {}
  std::vector<cublasLtMatmulAlgo_t> proposals(cublasLtHandle_t handle, const GemmShape& shape,
                                              int most);
};

namespace {

constexpr int kTunedRows[] = {1,   2,   4,   8,   16,  24,   32,   48,   64,   96,   128,  160,
                              192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192};

GemmTable::Key key_of(const GemmShape& s) {
  return {s.rows, s.n, s.k, s.y_stride, static_cast<int>(s.in), static_cast<int>(s.out)};
}

std::string text(const GemmShape& s) {
  return std::to_string(s.rows) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
}

}  // namespace

Gemm::Gemm(const Stream& stream, GemmTable& table)
    : stream_(stream), table_(table), workspace_(kWorkspaceBytes) {}
Gemm::~Gemm() = default;

std::span<const int> Gemm::tuned_sizes() { return kTunedRows; }

/// The algorithms that cublasLt proposes, best expected first.
std::vector<cublasLtMatmulAlgo_t> Gemm::Product::proposals(cublasLtHandle_t handle,
                                                           const GemmShape& shape, int most) {
  const Preference preference;
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int results = 0;
  check(cublas_lt().MatmulAlgoGetHeuristic(handle, operation.get(), w.get(), x.get(), y.get(),
                                           y.get(), preference.get(), most, found.data(), &results),
        ("an algorithm for " + text(shape)).c_str());
  std::vector<cublasLtMatmulAlgo_t> usable;
  for (int i = 0; i < results; ++i) {
    const auto& result = found[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) usable.push_back(result.algo);
  }
  if (usable.empty())
    throw DeviceError("cublasLt knows no algorithm for a product of " + text(shape));
  return usable;
}

/// Chooses the measured algorithm, if there is one for this shape.
bool Gemm::choose_measured(const GemmShape& shape, Product& product) {
  const auto* size = std::lower_bound(std::begin(kTunedRows), std::end(kTunedRows), shape.rows);
  if (size == std::end(kTunedRows)) return false;
  GemmShape tuned = shape;
  tuned.rows = *size;
  const auto known = table_.find(key_of(tuned));
  if (!known) return false;
  static_assert(sizeof(*known) == sizeof(product.algorithm));
  std::memcpy(&product.algorithm, known->data(), sizeof(product.algorithm));
  cublasLtMatmulHeuristicResult_t needs{};
  return cublas_lt().MatmulAlgoCheck(handle_.get(), product.operation.get(), product.w.get(),
                                     product.x.get(), product.y.get(), product.y.get(),
                                     &product.algorithm, &needs) == CUBLAS_STATUS_SUCCESS &&
         needs.workspaceSize <= kWorkspaceBytes;
}

Gemm::Product& Gemm::product(const GemmShape& shape) {
  std::unique_ptr<Product>& found = products_[shape];
  if (found) return *found;
  auto made = std::make_unique<Product>(shape);
  if (!choose_measured(shape, *made))
    made->algorithm = made->proposals(handle_.get(), shape, 1).front();
  found = std::move(made);
  return *found;
}

void Gemm::multiply(const GemmShape& shape, const void* x, const void* w, void* y) {
  run(product(shape), x, w, y);
}

void Gemm::run(Product& p, const void* x, const void* w, void* y) {
  const float one = 1, zero = 0;
  check(cublas_lt().Matmul(handle_.get(), p.operation.get(), &one, w, p.w.get(), x, p.x.get(),
                           &zero, y, p.y.get(), y, p.y.get(), &p.algorithm, workspace_.data(),
                           kWorkspaceBytes, stream_.get()),
        "a matrix product");
}

void Gemm::tune(const GemmShape& shape, const void* x, std::span<const void* const> weights,
                void* y) {
  if (table_.find(key_of(shape))) return;
  constexpr int kProposals = 12;
  constexpr double kNoise = 0.01;
  Product product(shape);
  double to_beat = std::numeric_limits<double>::infinity();
  GemmTable::Algorithm fastest{};
  for (const cublasLtMatmulAlgo_t& algorithm :
       product.proposals(handle_.get(), shape, kProposals)) {
    product.algorithm = algorithm;
    const double seconds = time(product, x, weights, y);
    if (seconds >= to_beat) continue;
    to_beat = (1 - kNoise) * seconds;  // of two within the noise, the one proposed first wins
    std::memcpy(fastest.data(), &algorithm, sizeof(algorithm));
  }
  table_.insert(key_of(shape), fastest);
}

/// Time of a product: the shorter of two means.
double Gemm::time(Product& product, const void* x, std::span<const void* const> weights, void* y) {
  constexpr double kEnough = 1.5e-3;  // seconds
  constexpr int kLeast = 3, kMost = 16;
  Event start, end;
  double best = std::numeric_limits<double>::infinity();
  int times = 1;
  for (int round = 0; round < 3; ++round) {
    start.record(stream_);
    for (int i = 0; i < times; ++i)
      run(product, x, weights[static_cast<std::size_t>(i) % weights.size()], y);
    end.record(stream_);
    end.synchronize();
    const double seconds = Event::seconds_between(start, end) / times;
    if (round > 0) best = std::min(best, seconds);  // the first round loads the kernel
    times = std::clamp(static_cast<int>(kEnough / seconds), kLeast, kMost);
  }
  return best;
}

}  // namespace backends::cuda
