#pragma once
#include <cstdint>
#include <string>

namespace model {

/// Dimensions of a dense decoder-only transformer, enough to count its bytes and its arithmetic.
struct ModelShape {
  std::string name;
  int layers = 0;
  int hidden = 0;
  int heads = 0;     // query heads
  int kv_heads = 0;  // key-value heads; fewer than heads means grouped-query attention
  int head_dim = 0;
  int intermediate = 0;  // width of the MLP
  int vocab = 0;
  int max_context = 0;     // tokens
  int dtype_bytes = 0;     // of a weight, an activation and, unless fp8_kv, a KV scalar
  bool gated_mlp = false;  // gate, up and down projections instead of up and down
  bool tied_embeddings = false;
  bool biases = false;        // on every linear layer and every norm
  int learned_positions = 0;  // rows of a position table; 0 with rotary positions
  bool qkv_biases = false;    // on the query, key and value projections alone (Qwen2)
  bool qk_norms = false;      // RMSNorm of each query and key head before its rotation (Qwen3)
  bool fp8_kv = false;        // KV scalars are of one byte (engine.kv_dtype)
};

/// Scalars of the keys and values of one token in all layers, count.
std::int64_t kv_scalars_per_token(const ModelShape& shape);
/// Bytes of a KV scalar where one that is not of fp8 has `wide`.
constexpr int kv_scalar_bytes(const ModelShape& shape, int wide) { return shape.fp8_kv ? 1 : wide; }
/// Keys and values of one token in all layers, bytes.
std::int64_t kv_bytes_per_token(const ModelShape& shape);

/// Weights of the linear layers of one layer (biases and norms excluded), count.
std::int64_t linear_params_per_layer(const ModelShape& shape);
/// Parameters of all layers, without embedding and output head.
std::int64_t linear_params(const ModelShape& shape);
/// The output head, hidden x vocab, whether or not it shares the embedding's memory.
std::int64_t head_params(const ModelShape& shape);
/// All weights of the checkpoint, count; tied embeddings count once.
std::int64_t total_params(const ModelShape& shape);
/// Memory of all weights on the device, bytes.
std::int64_t weight_bytes(const ModelShape& shape);

/// Floating-point operations (a multiply-add is two) of the linear layers for one token.
std::int64_t gemm_flops_per_token(const ModelShape& shape);
/// FLOPs of the output head for one row of logits.
std::int64_t head_flops_per_row(const ModelShape& shape);
/// Attention over `query_key_pairs` (query, key) pairs in every layer: scores and weighted sum.
double attention_flops(const ModelShape& shape, double query_key_pairs);

/// Values that the linear layers of one layer read and write for one token: the inputs and outputs
/// of the QKV, output, up (with gate) and down projections.
std::int64_t activations_per_token_layer(const ModelShape& shape);

}  // namespace model
