#include "workers/model/shape.hpp"

namespace model {
namespace {

std::int64_t query_width(const ModelShape& s) { return std::int64_t{s.heads} * s.head_dim; }
std::int64_t kv_width(const ModelShape& s) { return std::int64_t{s.kv_heads} * s.head_dim; }
std::int64_t qkv_width(const ModelShape& s) { return query_width(s) + 2 * kv_width(s); }
std::int64_t up_width(const ModelShape& s) {
  return std::int64_t{s.gated_mlp ? 2 : 1} * s.intermediate;
}

std::int64_t bias_params_per_layer(const ModelShape& s) {
  if (s.qkv_biases) return qkv_width(s);
  return s.biases ? qkv_width(s) + s.hidden + up_width(s) + s.hidden : 0;
}

std::int64_t norm_params(const ModelShape& s) {
  const std::int64_t one = std::int64_t{s.biases ? 2 : 1} * s.hidden;
  const std::int64_t of_heads = s.qk_norms ? 2 * s.head_dim : 0;  // one for queries, one for keys
  return std::int64_t{s.layers} * (2 * one + of_heads) + one;     // the last before the head
}

}  // namespace

std::int64_t kv_scalars_per_token(const ModelShape& s) { return 2 * kv_width(s) * s.layers; }

std::int64_t kv_bytes_per_token(const ModelShape& s) {
  return kv_scalars_per_token(s) * kv_scalar_bytes(s, s.dtype_bytes);
}

std::int64_t linear_params_per_layer(const ModelShape& s) {
  return s.hidden * qkv_width(s) + query_width(s) * s.hidden + s.hidden * up_width(s) +
         std::int64_t{s.intermediate} * s.hidden;
}

std::int64_t linear_params(const ModelShape& s) { return s.layers * linear_params_per_layer(s); }

std::int64_t head_params(const ModelShape& s) { return std::int64_t{s.hidden} * s.vocab; }

std::int64_t total_params(const ModelShape& s) {
  const std::int64_t tables =
      (s.tied_embeddings ? 1 : 2) * head_params(s) + std::int64_t{s.learned_positions} * s.hidden;
  return tables + linear_params(s) + s.layers * bias_params_per_layer(s) + norm_params(s);
}

std::int64_t weight_bytes(const ModelShape& s) { return total_params(s) * s.dtype_bytes; }

std::int64_t gemm_flops_per_token(const ModelShape& s) { return 2 * linear_params(s); }

std::int64_t head_flops_per_row(const ModelShape& s) { return 2 * head_params(s); }

double attention_flops(const ModelShape& s, double query_key_pairs) {
  return 4.0 * static_cast<double>(query_width(s) * s.layers) * query_key_pairs;
}

std::int64_t activations_per_token_layer(const ModelShape& s) {
  return (s.hidden + qkv_width(s)) + (query_width(s) + s.hidden) + (s.hidden + up_width(s)) +
         (std::int64_t{s.intermediate} + s.hidden);
}

}  // namespace model
