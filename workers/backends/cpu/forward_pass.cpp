#include "workers/backends/cpu/forward_pass.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/reference/kv_blocks.hpp"
#include "kernels/reference/layers.hpp"
#include "workers/model/convert.hpp"

namespace backends {
namespace reference = kernels::reference;
namespace {

std::size_t elements(int rows, int cols) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
}

/// Runs a kernel over KV, as a segment of the log if there is one.
template <class Kernel>
void with_log(reference::AccessTrace* log, kernels::AccessKernel name, int layer, int row,
              const Kernel& run) {
  if (log == nullptr) return run(reference::NoTrace{});
  log->begin(name, layer, row);
  run(reference::Traced{*log, row});
  log->end();
}

}  // namespace

ForwardPass::ForwardPass(const CpuWeights& weights, KvArena& arena)
    : weights_(weights), arena_(arena) {
  check_gemm();
}

/// Checks one weight of each shape, since BLAS takes the same path for all of them.
void ForwardPass::check_gemm() {
  std::set<std::pair<std::int64_t, std::int64_t>> tried;
  const model::WeightLayout& layout = weights_.layout();
  const auto check = [&](int number) {
    const model::Parameter& weight = layout.parameters[static_cast<std::size_t>(number)];
    if (tried.emplace(weight.rows, weight.cols).second)
      gemm_.check(weights_.at(number), static_cast<int>(weight.rows),
                  static_cast<int>(weight.cols));
  };
  for (const model::LayerParameters& layer : layout.layers)
    for (const int number :
         {layer.qkv_weight, layer.out_weight, layer.up_weight, layer.down_weight})
      check(number);
  check(layout.head);
}

void ForwardPass::linear(std::vector<float>& out, const std::vector<float>& x, int weight, int bias,
                         int rows) {
  const model::Parameter& shape = weights_.layout().parameters[static_cast<std::size_t>(weight)];
  const auto outputs = static_cast<int>(shape.rows), inputs = static_cast<int>(shape.cols);
  out.resize(elements(rows, outputs));
  gemm_.run(out.data(), x.data(), weights_.at(weight), rows, outputs, inputs);
  if (bias >= 0) reference::add_bias(out.data(), weights_.at(bias), rows, outputs);
}

void ForwardPass::norm(std::vector<float>& out, const std::vector<float>& x, int weight, int bias,
                       int rows) {
  const int hidden = weights_.shape().hidden;
  const auto eps = static_cast<float>(weights_.config().norm_eps);
  out.resize(elements(rows, hidden));
  if (weights_.config().architecture == model::Architecture::llama)
    reference::rms_norm(out.data(), x.data(), weights_.at(weight), rows, hidden, eps);
  else
    reference::layer_norm(out.data(), x.data(), weights_.at(weight), weights_.at(bias), rows,
                          hidden, eps);
}

void ForwardPass::begin(const StepBatch& batch) {
  batch_ = &batch;
  const model::ModelShape& shape = weights_.shape();
  const model::WeightLayout& layout = weights_.layout();
  const int tokens = batch.num_tokens();
  hidden_.resize(elements(tokens, shape.hidden));
  reference::embed(hidden_.data(), weights_.at(layout.embedding), batch.tokens.data(), tokens,
                   shape.hidden);
  if (layout.positions >= 0)
    reference::add_learned_positions(hidden_.data(), weights_.at(layout.positions),
                                     batch.positions.data(), tokens, shape.hidden);
  const model::RopeTable& rope = weights_.rope();
  const auto pairs = static_cast<int>(rope.inverse_frequency.size());
  cosines_.resize(elements(tokens, pairs));
  sines_.resize(elements(tokens, pairs));
  reference::rope_angles(cosines_.data(), sines_.data(), batch.positions.data(), tokens,
                         rope.inverse_frequency.data(), pairs, rope.scale);
}

void ForwardPass::layer(int number, reference::AccessTrace* log) {
  const model::LayerParameters& layer = weights_.layout().layers[static_cast<std::size_t>(number)];
  attention(layer, number, log);
  mlp(layer);
}

void ForwardPass::attention(const model::LayerParameters& layer, int number,
                            reference::AccessTrace* log) {
  const model::ModelShape& shape = weights_.shape();
  const int tokens = batch_->num_tokens();
  norm(normed_, hidden_, layer.attention_norm_weight, layer.attention_norm_bias, tokens);
  linear(qkv_, normed_, layer.qkv_weight, layer.qkv_bias, tokens);
  if (shape.qk_norms) norm_heads(layer);
  if (!cosines_.empty()) {  // keys follow the queries, so one loop rotates both
    const int stride = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    reference::rope(qkv_.data(), cosines_.data(), sines_.data(), tokens, stride,
                    shape.heads + shape.kv_heads, shape.head_dim);
  }
  attended_.resize(elements(tokens, shape.heads * shape.head_dim));
  model::with_scalar(arena_.type(), [&](auto kv) {
    append<decltype(kv)>(number, log);
    paged_attention<decltype(kv)>(number, log);
  });
  linear(projected_, attended_, layer.out_weight, layer.out_bias, tokens);
  reference::add(hidden_.data(), projected_.data(), static_cast<std::int64_t>(hidden_.size()));
}

/// Normalizes each head of the queries and of the keys, which follow them, by itself.
void ForwardPass::norm_heads(const model::LayerParameters& layer) {
  const model::ModelShape& shape = weights_.shape();
  const auto eps = static_cast<float>(weights_.config().norm_eps);
  const std::int64_t stride = std::int64_t{shape.heads + 2 * shape.kv_heads} * shape.head_dim;
  for (int token = 0; token < batch_->num_tokens(); ++token) {
    float* const queries = qkv_.data() + token * stride;
    float* const keys = queries + std::int64_t{shape.heads} * shape.head_dim;
    reference::rms_norm(queries, queries, weights_.at(layer.q_norm_weight), shape.heads,
                        shape.head_dim, eps);
    reference::rms_norm(keys, keys, weights_.at(layer.k_norm_weight), shape.kv_heads,
                        shape.head_dim, eps);
  }
}

template <class Kv>
void ForwardPass::append(int number, reference::AccessTrace* log) {
  const model::ModelShape& shape = weights_.shape();
  const StepBatch& batch = *batch_;
  const int q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
  const float* const keys = qkv_.data() + q_width;
  const reference::PagedTokens tokens = {.num_tokens = batch.num_tokens(),
                                         .positions = batch.positions.data(),
                                         .sequence = batch.sequence.data(),
                                         .block_tables = batch.block_tables.data(),
                                         .table_stride = batch.table_stride};
  with_log(log, kernels::AccessKernel::append, number, 0, [&](const auto& traced) {
    reference::append_kv(arena_.elements<Kv>(), arena_.layout(), number, keys, keys + kv_width,
                         q_width + 2 * kv_width, tokens, traced);
  });
}

template <class Kv>
void ForwardPass::paged_attention(int number, reference::AccessTrace* log) {
  const model::ModelShape& shape = weights_.shape();
  const StepBatch& batch = *batch_;
  const int q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
  const int stride = q_width + 2 * kv_width;
  for (std::size_t s = 0; s < batch.context.size(); ++s) {
    const std::int64_t first = batch.query_start[s];
    const reference::QueryChunk chunk = {.q = qkv_.data() + first * stride,
                                         .stride = stride,
                                         .queries = batch.query_start[s + 1] - batch.query_start[s],
                                         .heads = shape.heads};
    const reference::SequenceKv<Kv> kv = {
        .arena = arena_.elements<Kv>(),
        .layout = arena_.layout(),
        .layer = number,
        .blocks = batch.block_tables.data() + s * static_cast<std::size_t>(batch.table_stride),
        .context = batch.context[s]};
    float* const out = attended_.data() + first * q_width;
    const int row = static_cast<int>(s);
    const bool prefills = log != nullptr && log->prefills(row);
    with_log(log,
             prefills ? kernels::AccessKernel::prefill_attention
                      : kernels::AccessKernel::decode_attention,
             number, row, [&](const auto& traced) {
               reference::paged_attention(out, chunk, kv, scratch_, traced);
             });
  }
}

void ForwardPass::mlp(const model::LayerParameters& layer) {
  const model::ModelShape& shape = weights_.shape();
  const int tokens = batch_->num_tokens();
  norm(normed_, hidden_, layer.mlp_norm_weight, layer.mlp_norm_bias, tokens);
  linear(up_, normed_, layer.up_weight, layer.up_bias, tokens);
  if (shape.gated_mlp) {
    activated_.resize(elements(tokens, shape.intermediate));
    reference::swiglu(activated_.data(), up_.data(), tokens, shape.intermediate);
  } else {
    reference::relu(up_.data(), static_cast<std::int64_t>(up_.size()));
  }
  linear(projected_, shape.gated_mlp ? activated_ : up_, layer.down_weight, layer.down_bias,
         tokens);
  reference::add(hidden_.data(), projected_.data(), static_cast<std::int64_t>(hidden_.size()));
}

std::span<const float> ForwardPass::logits(std::span<const std::int32_t> rows) {
  const model::WeightLayout& layout = weights_.layout();
  const int hidden = weights_.shape().hidden, count = static_cast<int>(rows.size());
  wanted_.resize(elements(count, hidden));
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(hidden_.data() + std::int64_t{rows[i]} * hidden, hidden,
                wanted_.data() + static_cast<std::ptrdiff_t>(i) * hidden);
  norm(wanted_, wanted_, layout.final_norm_weight, layout.final_norm_bias, count);
  linear(logits_, wanted_, layout.head, -1, count);
  return logits_;
}

}  // namespace backends
