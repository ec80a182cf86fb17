#pragma once
#include "kernels/device/types.hpp"

/// All operations of a layer except attention and matrix products. The residual stream is float32,
/// which costs a few percent of a small kernel's bytes and keeps the sum of all layers exact to
/// 2^-24. Inputs and outputs of matrix products are of `type`: bf16 or f16.
namespace kernels::gpu {

struct Embed {
  Type type = Type::bf16;
  int tokens = 0;                           // T
  int hidden = 0;                           // d
  const std::int32_t* token_ids = nullptr;  // [T]; in [0, vocab), negative: a padding row, zeros
  const void* table = nullptr;              // [vocab][d] of type
  const std::int32_t* positions = nullptr;  // [T]; only read with a position table
  const void* position_table = nullptr;     // [rows][d] of type, or none; row = position + 2 (OPT)
  float* residual = nullptr;                // [T][d] out
};
void embed(const Embed& op, cudaStream_t stream);

/// residual += addend + addend_bias, then out = norm(residual) * weight (+ bias), sums in float32.
/// RMSNorm without `bias`, LayerNorm with it.
struct AddNorm {
  Type type = Type::bf16;
  int rows = 0;    // R, rows of `out`
  int hidden = 0;  // d, at most 32768
  float epsilon = 1e-5f;
  const std::int32_t* row_ids = nullptr;  // [R] rows of residual and addend; none: 0 .. R-1
  float* residual = nullptr;              // [T][d] in; out if addend is given and row_ids is not
  const void* addend = nullptr;           // [T][d] of type, or none: the last projection's output
  const void* addend_bias = nullptr;      // [d] of type, or none: that projection's bias
  const void* weight = nullptr;           // [d] of type
  const void* bias = nullptr;             // [d] of type: LayerNorm; none: RMSNorm
  void* out = nullptr;                    // [R][d] of type
};
/// With row_ids (the rows that need logits, distinct or not) the residual is not changed.
void add_norm(const AddNorm& op, cudaStream_t stream);

/// out[t][i] = silu(gate_up[t][i]) * gate_up[t][width + i], in float32.
struct SwiGlu {
  Type type = Type::bf16;
  int tokens = 0;
  int width = 0;                  // of the MLP
  const void* gate_up = nullptr;  // [T][2 width] of type
  void* out = nullptr;            // [T][width] of type; may not alias gate_up
};
void swiglu(const SwiGlu& op, cudaStream_t stream);

constexpr int kFusedNormRows = 128;  // at most
/// Residual addition and RMSNorm fused into the products before and after them, in place of
/// add_norm(). The product before adds its output, rounded to `type`, to the residual, and leaves y
/// = residual * weight and the sum of squares of each row, in parts. The product after multiplies
/// its sums by 1 / sqrt(mean square of the row + epsilon).
struct NormAfter {
  float* residual = nullptr;     // [rows][n] in and out; none: y is the product
  const void* weight = nullptr;  // [n] of type; no kernel of the step writes it
  float* squares = nullptr;  // [CTAs of this product][kFusedNormRows] out, in fused_norm_bytes()
};
struct NormBefore {
  const float* squares = nullptr;  // of the product before, whose n is this k; none: x is complete
  float epsilon = 1e-5f;
};

/// Small-M GEMM: y[r][n] = sum over k of x[r][k] * w[n][k], with sums in float32. `gated`: w holds
/// n gate rows, then n up rows, and y = silu(gate) * up, without rounding in between.
///
/// Every device takes up to kSmallGemmRows rows. Compute capability 9.0, compiled for sm_90a, takes
/// up to kSmallGemmRowsWgmma if w is not too large, and of products that are not gated up to
/// kSmallGemmRowsPair. A row's result is the same for every number of rows up to the first of
/// these, between the first two, and between the last two, but the three may be rounded
/// differently.
constexpr int kSmallGemmRows = 8, kSmallGemmRowsWgmma = 64, kSmallGemmRowsPair = 128;
struct SmallGemm {
  Type type = Type::bf16;  // of x and w
  Type out = Type::bf16;   // of y: `type`, or f32 if not gated
  bool gated = false;
  int rows = 0;
  int n = 0;                // multiple of 16, or of 8 beyond kSmallGemmRows
  int k = 0;                // multiple of 32, of 64 beyond kSmallGemmRows, and of 128 beyond
                            // kSmallGemmRowsWgmma
  int y_stride = 0;         // elements between rows of y
  const void* x = nullptr;  // [rows][k] of type
  const void* w = nullptr;  // [n, twice that if gated][k] of type; no kernel of the step writes it
  void* y = nullptr;        // [rows][y_stride]
  NormBefore before = {};   // one of them at most, where fuses_norms(), and y of `type`
  NormAfter after = {};     // not gated
};
/// Bytes of device memory for the `squares` of any product.
std::size_t fused_norm_bytes();
/// Number of CTAs of a product with n outputs that leave squares: all but those without outputs.
int fused_norm_parts(int n);
/// Whether small_gemm() computes norms before and after such a product of bf16 on this device; of a
/// gated one of more than kSmallGemmRowsWgmma rows, gated_gemm() the norm before.
bool fuses_norms(int rows, int n, int k, bool gated = false);
/// Whether small_gemm() should compute such a product on the current device.
bool prefers_small_gemm(int rows, int n, int k, bool gated = false);
void small_gemm(const SmallGemm& op, cudaStream_t stream);

constexpr int kGatedGemmTile = 128;  // rows of x of gated_gemm()'s tiles but those of 192 rows
/// y[r][i] = silu(x[r] * gate row i) * (x[r] * up row i), with sums in float32 and without rounding
/// in between, for any number of rows. A row's result is bitwise the same in every such product.
struct GatedGemm {
  Type type = Type::bf16;  // of x, w and y
  int rows = 0;
  int x_rows = 0;           // rows of x that can be read, at least `rows`: whole tiles are copied
                            // faster than one that ends at the last row of x
  int n = 0;                // multiple of 8
  int k = 0;                // multiple of 8
  const void* x = nullptr;  // [x_rows][k] of type; those from `rows` on do not matter
  const void* w = nullptr;  // [2 n][k] of type: gate rows, then up rows; no kernel of the step
                            // writes it
  void* y = nullptr;        // [rows][n] of type
  NormBefore before = {};   // of at most kFusedNormRows rows of bf16
};
/// Whether gated_gemm() should compute such a product on the current device: of more rows than
/// small_gemm() takes, on compute capability 9.0, compiled for sm_90a.
bool prefers_gated_gemm(int rows, int n, int k);
void gated_gemm(const GatedGemm& op, cudaStream_t stream);

/// x[t][i] = max(0, x[t][i] + bias[i]) in place.
struct BiasRelu {
  Type type = Type::f16;
  int tokens = 0;
  int width = 0;
  void* x = nullptr;           // [T][width] of type
  const void* bias = nullptr;  // [width] of type, or none
};
void bias_relu(const BiasRelu& op, cudaStream_t stream);

/// The greedy token of every row: the lowest index of the largest logit. NaNs are skipped and
/// flagged; a row of nothing but NaN gives 0.
struct Argmax {
  Type type = Type::f32;            // of the logits; all three types
  int rows = 0;                     // R
  int vocab = 0;                    // any
  int stride = 0;                   // elements between rows: >= vocab, a multiple of 8
  const void* logits = nullptr;     // [R][stride]
  std::int32_t* tokens = nullptr;   // [R] out; may be mapped host memory
  std::int32_t* saw_nan = nullptr;  // [R] out: 1 where a logit is NaN, else 0; may be none
  void* workspace = nullptr;        // argmax_workspace_bytes(R), zero before the first use; every
};                                  // launch leaves it zero again
std::size_t argmax_workspace_bytes(int rows);
void argmax(const Argmax& op, cudaStream_t stream);

/// out[i] = random_weight(seed, parameter, i, amplitude), rounded to nearest even:
/// the values that model::random_weights() gives on the host.
struct FillRandom {
  Type type = Type::bf16;
  std::int64_t elements = 0;
  std::uint64_t seed = 0;
  std::uint32_t parameter = 0;
  float amplitude = 0;
  void* out = nullptr;  // [elements] of type
};
void fill_random(const FillRandom& op, cudaStream_t stream);

/// out[i] = value; out [elements] of `type`: norm weights (1) and biases (0) of a random model.
void fill_constant(Type type, void* out, std::int64_t elements, float value, cudaStream_t stream);

}  // namespace kernels::gpu
