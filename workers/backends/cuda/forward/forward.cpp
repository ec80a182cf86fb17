#include "workers/backends/cuda/forward/forward.hpp"

#include <cmath>
#include <stdexcept>

#include "workers/backends/cuda/device/profiler_range.hpp"

namespace backends::cuda {
namespace {

namespace gpu = kernels::gpu;

DeviceBuffer to_device(const std::vector<float>& values) {
  DeviceBuffer buffer(values.size() * sizeof(float));
  if (!values.empty())
    check(cudaMemcpy(buffer.data(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice),
          "copying rotary frequencies");
  return buffer;
}

}  // namespace

Forward::Forward(const DeviceWeights& weights, Activations& activations, const Stream& stream,
                 GemmTable& table)
    : weights_(weights),
      to_(activations),
      stream_(stream),
      gemm_(stream, table),
      rope_(model::rope_table(weights.config())),
      inverse_frequencies_(to_device(rope_.inverse_frequency)),
      attention_scale_(1 / std::sqrt(static_cast<float>(weights.config().shape.head_dim))) {}

void Forward::run(const StepArrays& step, const KvArena& kv, const LayerHook& hook,
                  const LayerLog& log) {
  may_log_ = log != nullptr;
  // A hook reads each layer's output in `projected`.
  fuses_norms_ = !hook && can_fuse_norms(step.num_tokens);
  embed(step);
  compute_rotations(step);
  if (hook) hook(-1);
  for (int i = 0; i < weights_.config().shape.layers; ++i) {
    const ProfilerRange range(ProfilerName::layer, static_cast<std::uint64_t>(i));
    log_ = log ? log(i) : nullptr;
    attention_half(i, step, kv);
    mlp_half(i, step);
    if (hook) hook(i);
  }
  if (step.num_logits_rows > 0) head(step);
}

void Forward::embed(const StepArrays& step) {
  const model::WeightLayout& layout = weights_.layout();
  gpu::embed({.type = to_.type,
              .tokens = step.num_tokens,
              .hidden = weights_.config().shape.hidden,
              .token_ids = step.tokens,
              .table = weights_.at(layout.embedding),
              .positions = step.positions,
              .position_table = weights_.at(layout.positions),
              .residual = to_.residual},
             stream_.get());
  has_addend_ = normed_unscaled_ = false;
}

void Forward::compute_rotations(const StepArrays& step) {
  gpu::compute_rotations({.tokens = step.num_tokens,
                          .pairs = static_cast<int>(rope_.inverse_frequency.size()),
                          .positions = step.positions,
                          .inverse_frequencies = inverse_frequencies_.as<float>(),
                          .scale = rope_.scale,
                          .out = to_.rotations},
                         stream_.get());
}

void Forward::attention_half(int i, const StepArrays& step, const KvArena& kv) {
  const model::LayerParameters& p = layer(i);
  if (!normed_unscaled_)
    add_norm(step.num_tokens, nullptr, p.attention_norm_weight, p.attention_norm_bias, to_.normed);
  project(step.num_tokens, p.qkv_weight, to_.normed, to_.qkv);
  attend(i, step, kv);
  add_to_residual(step.num_tokens, p.out_weight, p.out_bias, to_.attention, p.mlp_norm_weight);
}

void Forward::attend(int i, const StepArrays& step, const KvArena& kv) {
  const gpu::PagedKv paged{.arena = kv.data,
                           .layout = kv.layout,
                           .layer = i,
                           .block_tables = step.block_tables,
                           .table_stride = step.table_stride,
                           .e4m3 = kv.e4m3};
  if (decode_can_append(step)) return decode(step, paged, to_.rotations);
  gpu::append_kv({.type = to_.type,
                  .shape = to_.heads,
                  .tokens = step.num_tokens,
                  .qkv = to_.qkv,
                  .keep_contiguous = step.contiguous.num_tiles > 0,
                  .bias = weights_.at(layer(i).qkv_bias),
                  .query_norm = weights_.at(layer(i).q_norm_weight),
                  .key_norm = weights_.at(layer(i).k_norm_weight),
                  .norm_eps = static_cast<float>(weights_.config().norm_eps),
                  .rotations = to_.rotations,
                  .positions = step.positions,
                  .sequence = step.sequence,
                  .kv = paged,
                  .log = log_},
                 stream_.get());
  if (step.paged.num_tiles > 0) prefill(step, paged, gpu::KvSource::paged, step.paged);
  if (step.contiguous.num_tiles > 0)
    prefill(step, paged, gpu::KvSource::contiguous, step.contiguous);
  if (step.num_decodes > 0) decode(step, paged, nullptr);
}

void Forward::prefill(const StepArrays& step, const gpu::PagedKv& kv, gpu::KvSource source,
                      const PrefillArrays& work) {
  gpu::prefill_attention({.type = to_.type,
                          .shape = to_.heads,
                          .source = source,
                          .tiles = work.num_tiles,
                          .tile_list = work.tiles,
                          .parts = work.num_parts,
                          .part_list = work.parts,
                          .sharers = gpu::prefill_sharers(),
                          .workspace = to_.prefill_workspace,
                          .query_start = step.query_start,
                          .context = step.context,
                          .tokens = step.num_tokens,
                          .qkv = to_.qkv,
                          .kv = kv,
                          .scale = attention_scale_,
                          .out = to_.attention,
                          .log = source == gpu::KvSource::paged ? log_ : nullptr},
                         stream_.get());
}

void Forward::decode(const StepArrays& step, const gpu::PagedKv& kv, const float* rotations) {
  const model::LayerParameters& p = layer(kv.layer);
  const auto if_appending = [&](int parameter) {
    return rotations ? weights_.at(parameter) : nullptr;
  };
  const gpu::DecodeAttention decode{.type = to_.type,
                                    .shape = to_.heads,
                                    .rows = step.num_decodes,
                                    .sequences = step.decode_rows,
                                    .query_start = step.query_start,
                                    .context = step.context,
                                    .qkv = to_.qkv,
                                    .rotations = rotations,
                                    .bias = if_appending(p.qkv_bias),
                                    .query_norm = if_appending(p.q_norm_weight),
                                    .key_norm = if_appending(p.k_norm_weight),
                                    .norm_eps = static_cast<float>(weights_.config().norm_eps),
                                    .kv = kv,
                                    .scale = attention_scale_,
                                    .out = to_.attention,
                                    .workspace = to_.decode_workspace,
                                    .log = log_,
                                    .whole_splits = may_log_,
                                    .early = kv.layer > 0};  // layer 0's follows the plan
  if (kv.layer == 0) gpu::plan_decode(decode, stream_.get());
  gpu::decode_attention(decode, stream_.get());
}

void Forward::mlp_half(int i, const StepArrays& step) {
  const model::LayerParameters& p = layer(i);
  if (!normed_unscaled_)
    add_norm(step.num_tokens, nullptr, p.mlp_norm_weight, p.mlp_norm_bias, to_.normed);
  up_and_activate(p, step.num_tokens);
  const bool last = i + 1 == weights_.config().shape.layers;  // the head has norms of its own rows
  add_to_residual(step.num_tokens, p.down_weight, p.down_bias, to_.activated,
                  last ? -1 : layer(i + 1).attention_norm_weight);
}

/// Projects x, for add_norm() to add to the residual; or adds it itself, and leaves the scale of a
/// norm with this weight to the next product.
void Forward::add_to_residual(int rows, int weight, int bias, const void* x, int norm_weight) {
  normed_unscaled_ = fuses_norms_ && norm_weight >= 0;
  has_addend_ = !normed_unscaled_;
  addend_bias_ = bias;
  if (!normed_unscaled_) return project(rows, weight, x, to_.projected);
  gpu::SmallGemm op = small_product(projection(rows, weight), x, weights_.at(weight), to_.normed);
  op.after = {to_.residual, weights_.at(norm_weight), to_.norm_squares};
  gpu::small_gemm(op, stream_.get());
}

/// Whether the products of a layer, and not add_norm(), compute the RMSNorms between them.
bool Forward::can_fuse_norms(int tokens) const {
  const model::ModelShape& shape = weights_.config().shape;
  const model::LayerParameters& p = layer(0);
  const auto fuses = [&](int weight) {
    const GemmShape product = projection(tokens, weight);
    return gpu::fuses_norms(tokens, product.n, product.k);
  };
  return to_.type == gpu::Type::bf16 && shape.gated_mlp && p.mlp_norm_bias < 0 && p.out_bias < 0 &&
         p.down_bias < 0 && fuses(p.out_weight) && fuses(p.down_weight) && fuses(p.qkv_weight) &&
         gpu::fuses_norms(tokens, shape.intermediate, shape.hidden, true);
}

/// Whether decode attention can do what append_kv() would: in a step of decodes alone, of a model
/// with rotary embedding, and in a layer that is not logged.
bool Forward::decode_can_append(const StepArrays& step) const {
  return step.num_decodes == step.num_tokens && to_.rotations && !log_;
}

void Forward::up_and_activate(const model::LayerParameters& p, int tokens) {
  if (takes_gated(tokens)) return gated(p, tokens);
  if (tokens > to_.up_rows) throw std::logic_error("a step has more tokens than there is room for");
  project(tokens, p.up_weight, to_.normed, to_.up);
  activate(p, tokens);
}

/// Gate, up and SwiGLU in one kernel.
void Forward::gated(const model::LayerParameters& p, int tokens) {
  const model::ModelShape& shape = weights_.config().shape;
  if (gpu::prefers_gated_gemm(tokens, shape.intermediate, shape.hidden)) {
    return gpu::gated_gemm({.type = to_.type,
                            .rows = tokens,
                            .x_rows = to_.normed_rows,
                            .n = shape.intermediate,
                            .k = shape.hidden,
                            .x = to_.normed,
                            .w = weights_.at(p.up_weight),
                            .y = to_.activated,
                            .before = norm_before()},
                           stream_.get());
  }
  gpu::small_gemm({.type = to_.type,
                   .out = to_.type,
                   .gated = true,
                   .rows = tokens,
                   .n = shape.intermediate,
                   .k = shape.hidden,
                   .y_stride = shape.intermediate,
                   .x = to_.normed,
                   .w = weights_.at(p.up_weight),
                   .y = to_.activated,
                   .before = norm_before()},
                  stream_.get());
}

void Forward::activate(const model::LayerParameters& p, int tokens) {
  const model::ModelShape& shape = weights_.config().shape;
  if (shape.gated_mlp) {
    gpu::swiglu({.type = to_.type,
                 .tokens = tokens,
                 .width = shape.intermediate,
                 .gate_up = to_.up,
                 .out = to_.activated},
                stream_.get());
  } else {
    gpu::bias_relu({.type = to_.type,
                    .tokens = tokens,
                    .width = shape.intermediate,
                    .x = to_.up,
                    .bias = weights_.at(p.up_bias)},
                   stream_.get());
  }
}

/// Logits of the rows that sample, and no others: with a vocabulary of 128k one more row costs as
/// much as 8 % of its layers.
void Forward::head(const StepArrays& step) {
  const model::WeightLayout& layout = weights_.layout();
  const int rows = step.num_logits_rows;
  add_norm(rows, step.logits_rows, layout.final_norm_weight, layout.final_norm_bias, to_.head_rows);
  multiply(head_product(rows), to_.head_rows, weights_.at(layout.head), to_.logits);
  gpu::argmax({.type = gpu::Type::f32,
               .rows = rows,
               .vocab = weights_.config().shape.vocab,
               .stride = to_.logits_stride,
               .logits = to_.logits,
               .tokens = to_.sampled,
               .saw_nan = to_.sampled + rows,
               .workspace = to_.argmax_workspace},
              stream_.get());
}

void Forward::add_norm(int rows, const std::int32_t* row_ids, int weight, int bias, void* out) {
  const model::ModelConfig& config = weights_.config();
  gpu::add_norm({.type = to_.type,
                 .rows = rows,
                 .hidden = config.shape.hidden,
                 .epsilon = static_cast<float>(config.norm_eps),
                 .row_ids = row_ids,
                 .residual = to_.residual,
                 .addend = has_addend_ ? to_.projected : nullptr,
                 .addend_bias = has_addend_ ? weights_.at(addend_bias_) : nullptr,
                 .weight = weights_.at(weight),
                 .bias = weights_.at(bias),
                 .out = out},
                stream_.get());
}

void Forward::project(int rows, int weight, const void* x, void* y) {
  multiply(projection(rows, weight), x, weights_.at(weight), y);
}

/// Small-M products use specialized kernels, which read the weights faster than the library.
void Forward::multiply(const GemmShape& shape, const void* x, const void* w, void* y) {
  if (!gpu::prefers_small_gemm(shape.rows, shape.n, shape.k)) return gemm_.multiply(shape, x, w, y);
  gpu::small_gemm(small_product(shape, x, w, y), stream_.get());
}

gpu::SmallGemm Forward::small_product(const GemmShape& shape, const void* x, const void* w,
                                      void* y) const {
  return {.type = shape.in,
          .out = shape.out,
          .gated = false,
          .rows = shape.rows,
          .n = shape.n,
          .k = shape.k,
          .y_stride = shape.y_stride,
          .x = x,
          .w = w,
          .y = y,
          .before = x == to_.normed ? norm_before() : gpu::NormBefore{}};
}

/// The part of its norm that the last projection has left to the product that reads `normed`.
gpu::NormBefore Forward::norm_before() const {
  return {normed_unscaled_ ? to_.norm_squares : nullptr,
          static_cast<float>(weights_.config().norm_eps)};
}

/// Whether one kernel computes gate, up and SwiGLU of this many tokens.
bool Forward::takes_gated(int tokens) const {
  const model::ModelShape& shape = weights_.config().shape;
  return shape.gated_mlp &&
         (gpu::prefers_small_gemm(tokens, shape.intermediate, shape.hidden, true) ||
          gpu::prefers_gated_gemm(tokens, shape.intermediate, shape.hidden));
}

GemmShape Forward::projection(int rows, int weight) const {
  const model::Parameter& w = weights_.layout().parameters[static_cast<std::size_t>(weight)];
  return {.rows = rows,
          .n = static_cast<int>(w.rows),
          .k = static_cast<int>(w.cols),
          .y_stride = static_cast<int>(w.rows),
          .in = to_.type,
          .out = to_.type};
}

GemmShape Forward::head_product(int rows) const {
  const model::ModelShape& shape = weights_.config().shape;
  return {.rows = rows,
          .n = shape.vocab,
          .k = shape.hidden,
          .y_stride = to_.logits_stride,
          .in = to_.type,
          .out = gpu::Type::f32};
}

/// Uses random numbers: equal values would draw less power and allow higher clocks.
void Forward::tune(int tokens, int logits_rows) {
  const model::ModelShape& shape = weights_.config().shape;
  fill_random(to_.normed, std::int64_t{tokens} * shape.hidden);
  fill_random(to_.attention, std::int64_t{tokens} * shape.heads * shape.head_dim);
  fill_random(to_.activated, std::int64_t{tokens} * shape.intermediate);
  fill_random(to_.head_rows, std::int64_t{logits_rows} * shape.hidden);
  const void* const head = weights_.at(weights_.layout().head);
  for (const int rows : Gemm::tuned_sizes()) {
    if (rows > tokens) return;
    tune_layers(rows);
    if (rows <= logits_rows)
      tune_product(head_product(rows), to_.head_rows, {&head, 1}, to_.logits);
  }
}

void Forward::fill_random(void* out, std::int64_t elements) const {
  gpu::fill_random({.type = to_.type,
                    .elements = elements,
                    .seed = 1,
                    .parameter = 0,
                    .amplitude = 1,
                    .out = out},
                   stream_.get());
}

void Forward::tune_layers(int rows) {
  const auto tune = [&](int model::LayerParameters::*weight, const void* x, void* y) {
    std::vector<const void*> all;
    for (const model::LayerParameters& p : weights_.layout().layers)
      all.push_back(weights_.at(p.*weight));
    tune_product(projection(rows, layer(0).*weight), x, all, y);
  };
  tune(&model::LayerParameters::qkv_weight, to_.normed, to_.qkv);
  tune(&model::LayerParameters::out_weight, to_.attention, to_.projected);
  if (!takes_gated(rows)) tune(&model::LayerParameters::up_weight, to_.normed, to_.up);
  tune(&model::LayerParameters::down_weight, to_.activated, to_.projected);
}

void Forward::tune_product(const GemmShape& shape, const void* x,
                           std::span<const void* const> weights, void* y) {
  if (!gpu::prefers_small_gemm(shape.rows, shape.n, shape.k)) gemm_.tune(shape, x, weights, y);
}

}  // namespace backends::cuda
