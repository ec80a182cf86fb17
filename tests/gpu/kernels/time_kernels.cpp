// Times the kernels at the shapes of Llama-3.1-8B, each with its share of the device's copy rate
// (bytes that have to be moved) or of its arithmetic rate. Medians of graph replays over memory
// that exceeds the L2 cache, on random numbers.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/layers/layers.hpp"
#include "tests/gpu/kernels/timing.hpp"

using namespace gpu_timing;

namespace {

std::vector<std::int32_t> shuffled(int count) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ids[static_cast<std::size_t>(i)] = i;
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  return ids;
}

/// The access log of decodes of all layers, as an engine passes it to its kernels.
class Log {
 public:
  Log(const gpu::HeadShape& heads, const kernels::KvLayout& layout, int batch, int context)
      : plan_(planned(heads, layout, batch, context)),
        segments_(static_cast<std::size_t>(plan_.layer_bytes * layout.layers)),
        prefilled_(static_cast<std::size_t>(batch)),
        on_device_(sizeof plan_) {
    check(cudaMemset(prefilled_.get(), 0, static_cast<std::size_t>(batch)), "memset");
    plan_.segments = segments_.get<unsigned char>();
    plan_.prefilled = prefilled_.get<std::uint8_t>();
    for (std::uint32_t& word : plan_.heads) word = ~0u;
    check(cudaMemcpy(on_device_.get(), &plan_, sizeof plan_, cudaMemcpyHostToDevice), "copy");
    for (int layer = 0; layer < layout.layers; ++layer)
      layers_.push_back({on_device_.get<gpu::AccessPlan>(), layer});
  }
  const gpu::AccessLog* of_layer(int layer) const {
    return &layers_[static_cast<std::size_t>(layer)];
  }

 private:
  static gpu::AccessPlan planned(const gpu::HeadShape& heads, const kernels::KvLayout& layout,
                                 int batch, int context) {
    gpu::LoggedWork work;
    const int length = gpu::decode_split_length(context);
    work.tokens = batch;
    work.append_warps = gpu::append_kv_warps(heads);
    work.append_records = gpu::append_kv_records(heads);
    work.decode_splits = batch * ((context + length - 1) / length);
    work.decode_length = std::min(length, context);
    work.block_size = layout.block_size;
    work.kv_heads = layout.kv_heads;
    return gpu::lay_out_segments(work);
  }

  gpu::AccessPlan plan_;
  Memory segments_, prefilled_, on_device_;
  std::vector<gpu::AccessLog> layers_;
};

void time_decode(const gpu::HeadShape& heads, int batch, int context, bool logged = false,
                 bool e4m3 = false) {
  const int blocks = (context + kBlockSize - 1) / kBlockSize;
  kernels::KvLayout layout = {1, heads.kv_heads, kBlockSize, heads.head_dim};
  const std::int64_t layer_bytes = 2 * layout.block_elements() * blocks * batch;
  layout.layers =
      static_cast<int>(std::clamp<std::int64_t>((std::int64_t{20} << 30) / layer_bytes, 1, 32));
  const Memory arena = random_numbers(layout.block_elements() * blocks * batch),
               qkv = random_numbers(std::int64_t{batch} * heads.qkv_width()),
               out(static_cast<std::size_t>(batch * heads.heads * heads.head_dim) * 2),
               tables = copied(shuffled(blocks * batch)), rows = copied(shuffled(batch));
  std::vector<std::int32_t> start;
  for (int i = 0; i <= batch; ++i) start.push_back(i);
  const Memory starts = copied(start),
               contexts =
                   copied(std::vector<std::int32_t>(static_cast<std::size_t>(batch), context)),
               workspace(gpu::decode_workspace_bytes(batch, heads));
  gpu::DecodeAttention op;
  op.shape = heads;
  op.rows = batch;
  op.sequences = rows.get<std::int32_t>();
  op.query_start = starts.get<std::int32_t>();
  op.context = contexts.get<std::int32_t>();
  op.qkv = qkv.get();
  op.kv = {arena.get(), layout, 0, tables.get<std::int32_t>(), blocks, e4m3};
  op.scale = 0.088f;
  op.out = out.get();
  op.workspace = workspace.get();
  op.whole_splits = logged;
  gpu::plan_decode(op, nullptr);
  const Log log(heads, layout, batch, context);
  const double us = microseconds(layout.layers, [&](cudaStream_t stream) {
    for (op.kv.layer = 0; op.kv.layer < layout.layers; ++op.kv.layer) {
      op.log = logged ? log.of_layer(op.kv.layer) : nullptr;
      gpu::decode_attention(op, stream);
    }
  });
  char what[80];
  std::snprintf(what, sizeof what, "decode attention %d/%d heads, B %d, context %d%s%s",
                heads.heads, heads.kv_heads, batch, context, logged ? ", logged" : "",
                e4m3 ? ", e4m3" : "");
  print_bytes(what, us, (e4m3 ? 2.0 : 4.0) * context * batch * heads.kv_heads * heads.head_dim);
}

void time_prefill(const gpu::HeadShape& heads, int tokens, int prior, gpu::KvSource source,
                  bool whole = false, bool e4m3 = false) {
  const int context = prior + tokens, blocks = (context + kBlockSize - 1) / kBlockSize;
  const kernels::KvLayout layout = {8, heads.kv_heads, kBlockSize, heads.head_dim};
  const Memory arena = random_numbers(layout.block_elements() * blocks),
               qkv = random_numbers(std::int64_t{tokens} * heads.qkv_width()),
               out(static_cast<std::size_t>(tokens * heads.heads * heads.head_dim) * 2),
               tables = copied(shuffled(blocks)), starts = copied<std::int32_t>({0, tokens}),
               contexts = copied<std::int32_t>({context});
  const gpu::PrefillPlan plan =
      gpu::plan_prefill(heads, {0, tokens}, {context}, {0}, gpu::prefill_sharers());
  const Memory tiles = copied(plan.tiles), parts = copied(plan.parts);
  const std::size_t bytes = gpu::prefill_workspace_bytes(heads, gpu::prefill_sharers());
  const Memory workspace(bytes);
  check(cudaMemset(workspace.get(), 0, bytes), "memset");
  gpu::PrefillAttention op;
  op.shape = heads;
  op.source = source;
  op.tiles = static_cast<int>(plan.tiles.size());
  op.tile_list = tiles.get<gpu::PrefillTile>();
  op.parts = whole ? 0 : static_cast<int>(plan.parts.size());
  op.part_list = parts.get<gpu::PrefillPart>();
  op.sharers = gpu::prefill_sharers();
  op.workspace = workspace.get();
  op.query_start = starts.get<std::int32_t>();
  op.context = contexts.get<std::int32_t>();
  op.tokens = tokens;
  op.qkv = qkv.get();
  op.kv = {arena.get(), layout, 0, tables.get<std::int32_t>(), blocks, e4m3};
  op.scale = 0.088f;
  op.out = out.get();
  const double us = microseconds(layout.layers, [&](cudaStream_t stream) {
    for (op.kv.layer = 0; op.kv.layer < layout.layers; ++op.kv.layer)
      gpu::prefill_attention(op, stream);
  });
  const double chunk = tokens;
  const double pairs = chunk * prior + chunk * (chunk + 1) / 2;
  std::printf(
      "prefill attention %d/%d heads of %d, %5d tokens after %6d, %-10s %-6s %10.2f us %7.1f "
      "TFLOP/s\n",
      heads.heads, heads.kv_heads, heads.head_dim, tokens, prior,
      e4m3                             ? "e4m3"
      : source == gpu::KvSource::paged ? "paged"
                                       : "contiguous",
      op.parts > 0 ? "parts" : "whole", us, 4 * pairs * heads.heads * heads.head_dim / us / 1e6);
}

void time_prefills() {
  const gpu::HeadShape mha = {32, 32, 128}, narrow = {32, 8, 64};
  for (const int tokens : {128, 512, 2048, 8192}) {
    time_prefill(kHeads, tokens, 0, gpu::KvSource::paged);
    time_prefill(kHeads, tokens, 0, gpu::KvSource::contiguous);
    time_prefill(mha, tokens, 0, gpu::KvSource::paged);
    time_prefill(narrow, tokens, 0, gpu::KvSource::paged);
  }
  constexpr std::pair<int, int> kAfter[] = {{1, 8192},    {64, 7000},    {512, 8192},
                                            {64, 100000}, {700, 100000}, {2048, 100000}};
  for (const auto& [tokens, prior] : kAfter)
    for (const bool whole : {true, false})
      time_prefill(kHeads, tokens, prior, gpu::KvSource::paged, whole);
}

/// Attention over KV of e4m3 beside that over 16 bits.
void time_fp8() {
  constexpr std::pair<int, int> kDecodes[] = {{16, 16000}, {1, 16000}, {32, 1024}, {4, 100000}};
  for (const auto& [batch, context] : kDecodes)
    for (const bool e4m3 : {false, true}) time_decode(kHeads, batch, context, false, e4m3);
  constexpr std::pair<int, int> kPrefills[] = {
      {128, 0}, {2048, 0}, {8192, 0}, {64, 7000}, {512, 8192}};
  for (const auto& [tokens, prior] : kPrefills)
    for (const bool e4m3 : {false, true})
      time_prefill(kHeads, tokens, prior, gpu::KvSource::paged, false, e4m3);
}

void time_rows(int tokens) {
  constexpr int kCopies = 8;  // used in turn, so that large inputs are not cached
  const std::int64_t width = 2 * kMlp;
  const Memory wide = random_numbers(kCopies * tokens * width),
               out(static_cast<std::size_t>(tokens) * kMlp * 2),
               residual(static_cast<std::size_t>(kCopies) * static_cast<std::size_t>(tokens) *
                        kHidden * 4),
               weight = random_numbers(kHidden);
  check(cudaMemset(residual.get(), 0, static_cast<std::size_t>(kCopies * tokens) * kHidden * 4),
        "memset");
  gpu::AddNorm norm;
  norm.rows = tokens;
  norm.hidden = kHidden;
  norm.weight = weight.get();
  norm.out = out.get();
  char what[80];
  const double norm_us = microseconds(kCopies, [&](cudaStream_t stream) {
    for (int i = 0; i < kCopies; ++i) {
      norm.residual = residual.get<float>() + std::int64_t{i} * tokens * kHidden;
      norm.addend = wide.get<char>() + i * tokens * width * 2;
      gpu::add_norm(norm, stream);
    }
  });
  std::snprintf(what, sizeof what, "residual addition and RMSNorm, %d tokens", tokens);
  print_bytes(what, norm_us, 12.0 * tokens * kHidden);

  const double swiglu_us = microseconds(kCopies, [&](cudaStream_t stream) {
    for (int i = 0; i < kCopies; ++i)
      gpu::swiglu(
          {gpu::Type::bf16, tokens, kMlp, wide.get<char>() + i * tokens * width * 2, out.get()},
          stream);
  });
  std::snprintf(what, sizeof what, "SwiGLU, %d tokens", tokens);
  print_bytes(what, swiglu_us, 6.0 * tokens * kMlp);
}

void time_append(int tokens, bool logged = false) {
  constexpr int kLayers = 8;
  const kernels::KvLayout layout = {kLayers, kHeads.kv_heads, kBlockSize, kHeads.head_dim};
  const int blocks = tokens / kBlockSize + 1;
  std::vector<std::int32_t> places(static_cast<std::size_t>(tokens));
  for (int i = 0; i < tokens; ++i) places[static_cast<std::size_t>(i)] = i;
  const std::int64_t width = kHeads.qkv_width();
  const Memory arena = random_numbers(layout.block_elements() * blocks),
               qkv = random_numbers(kLayers * tokens * width), positions = copied(places),
               sequence = copied(std::vector<std::int32_t>(places.size(), 0)),
               tables = copied(shuffled(blocks)),
               rotations = random_numbers(2 * tokens * kHeads.head_dim);
  gpu::AppendKv op;
  op.shape = kHeads;
  op.tokens = tokens;
  op.rotations = rotations.get<float>();
  op.positions = positions.get<std::int32_t>();
  op.sequence = sequence.get<std::int32_t>();
  op.kv = {arena.get(), layout, 0, tables.get<std::int32_t>(), blocks};
  const Log log(kHeads, layout, tokens, 1);
  const double us = microseconds(kLayers, [&](cudaStream_t stream) {
    for (op.kv.layer = 0; op.kv.layer < kLayers; ++op.kv.layer) {
      op.log = logged ? log.of_layer(op.kv.layer) : nullptr;
      op.qkv = qkv.get<char>() + op.kv.layer * tokens * width * 2;
      gpu::append_kv(op, stream);
    }
  });
  char what[80];
  std::snprintf(what, sizeof what, "rotation and KV append, %d tokens%s", tokens,
                logged ? ", logged" : "");
  print_bytes(what, us, 4.0 * tokens * static_cast<double>(width));
}

void time_argmax(int rows) {
  const Memory logits = random_numbers(std::int64_t{2} * rows * kVocab),
               tokens(static_cast<std::size_t>(rows) * 4),
               workspace(gpu::argmax_workspace_bytes(rows));
  check(cudaMemset(workspace.get(), 0, gpu::argmax_workspace_bytes(rows)), "memset");
  gpu::Argmax op;
  op.rows = rows;
  op.vocab = op.stride = kVocab;
  op.logits = logits.get();
  op.tokens = tokens.get<std::int32_t>();
  op.workspace = workspace.get();
  const double us = microseconds(4, [&](cudaStream_t stream) {
    for (int i = 0; i < 4; ++i) gpu::argmax(op, stream);
  });
  char what[80];
  std::snprintf(what, sizeof what, "argmax of float32 logits, %d rows", rows);
  print_bytes(what, us, 4.0 * rows * kVocab);
}

}  // namespace

/// time_kernels: everything; time_kernels fp8: KV of e4m3 beside 16 bits; time_kernels prefill:
/// prefill attention alone; time_kernels products: small-M GEMMs alone; time_kernels decode BATCH
/// CONTEXT: that one, for a profiler; time_kernels log BATCH CONTEXT: what the access log adds to a
/// decode's two kernels, each without and with it, three times over.
int main(int count, char** words) {
  time_copy();
  if (count == 4 && std::string(words[1]) == "log") {
    for (int i = 0; i < 6; ++i) {
      time_decode(kHeads, std::stoi(words[2]), std::stoi(words[3]), i % 2 == 1);
      time_append(std::stoi(words[2]), i % 2 == 1);
    }
    return 0;
  }
  if (count == 4) {
    time_decode(kHeads, std::stoi(words[2]), std::stoi(words[3]));
    return 0;
  }
  if (count == 2 && std::string(words[1]) == "fp8") {
    time_fp8();
    return 0;
  }
  if (count == 2 && std::string(words[1]) == "products") {
    time_products();
    return 0;
  }
  time_prefills();
  if (count == 2) return 0;
  const gpu::HeadShape mha = {32, 32, 128};
  for (const int context : {1024, 8192})
    for (const int batch : {1, 8, 32, 128}) time_decode(kHeads, batch, context);
  time_decode(mha, 32, 2048);
  time_products();
  for (const int tokens : {1, 32, 2048}) time_rows(tokens);
  for (const int tokens : {1, 32, 2048}) time_append(tokens);
  for (const int rows : {1, 32, 128}) time_argmax(rows);
}
