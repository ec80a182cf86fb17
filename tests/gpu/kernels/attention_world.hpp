#pragma once
#include <algorithm>
#include <optional>

#include "kernels/attention/attention.hpp"
#include "kernels/reference/attention.hpp"
#include "tests/gpu/kernels/device.hpp"

namespace gpu_test {

namespace gpu = kernels::gpu;

/// Computes the last `queries` of `context` tokens; the others are cached.
struct Sequence {
  int context;
  int queries;
};

struct WorldShape {
  Type type = Type::bf16;
  int group = 4;
  int kv_heads = 2;
  int head_dim = 128;
  int block_size = 16;
  int shared_blocks = 0;  // leading blocks shared by the sequences' tables
  bool e4m3 = false;      // KV, otherwise of the type
};

/// The plan of prefill attention, and memory for it.
struct PrefillWork {
  gpu::PrefillPlan plan;
  Device<gpu::PrefillTile> tiles;
  Device<gpu::PrefillPart> parts;
  Device<unsigned char> workspace;

  PrefillWork(const gpu::HeadShape& heads, const Ints& query_start, const Ints& context,
              const Ints& sequences)
      : plan(gpu::plan_prefill(heads, query_start, context, sequences, gpu::prefill_sharers())),
        tiles(plan.tiles),
        parts(plan.parts),
        workspace(gpu::prefill_workspace_bytes(heads, gpu::prefill_sharers())) {
    workspace.zero();
  }
  void give(gpu::PrefillAttention& op) const {
    op.tiles = static_cast<int>(plan.tiles.size());
    op.tile_list = tiles.get();
    op.parts = static_cast<int>(plan.parts.size());
    op.part_list = parts.get();
    op.sharers = gpu::prefill_sharers();
    op.workspace = workspace.get();
  }
};

/// A step's sequences in an arena with blocks in random order. Every slot without a token is NaN,
/// and so is the output.
class AttentionWorld {
 public:
  AttentionWorld(const WorldShape& shape, const std::vector<Sequence>& sequences)
      : shape_(shape), sequences_(sequences) {
    place_blocks();
    fill_arena();
    qkv_ = numbers_.halves(shape.type, std::int64_t{tokens()} * heads().qkv_width());
    qkv_device_.emplace(qkv_);
    out_device_.emplace(static_cast<std::size_t>(tokens() * out_width()));
    context_device_.emplace(context());
    start_device_.emplace(query_start());
    table_device_.emplace(tables_);
    arena_device_.emplace(arena_);
  }

  gpu::HeadShape heads() const {
    return {shape_.group * shape_.kv_heads, shape_.kv_heads, shape_.head_dim};
  }
  int out_width() const { return heads().heads * shape_.head_dim; }
  int tokens() const { return query_start().back(); }
  float scale() const { return 1 / std::sqrt(static_cast<float>(shape_.head_dim)); }
  Type type() const { return shape_.type; }
  Ints query_start() const {
    Ints start = {0};
    for (const Sequence& s : sequences_) start.push_back(start.back() + s.queries);
    return start;
  }
  Ints context() const {
    Ints context;
    for (const Sequence& s : sequences_) context.push_back(s.context);
    return context;
  }
  Ints all_sequences() const {
    Ints all;
    for (std::size_t i = 0; i < sequences_.size(); ++i) all.push_back(static_cast<int>(i));
    return all;
  }
  kernels::KvLayout layout() const {
    return {kLayers, shape_.kv_heads, shape_.block_size, shape_.head_dim};
  }
  gpu::PagedKv kv() const {
    return {arena_device_->get(), layout(),      kLayer,
            table_device_->get(), table_stride_, shape_.e4m3};
  }
  gpu::PrefillPlan prefill_plan() const {
    return gpu::plan_prefill(heads(), query_start(), context(), all_sequences(),
                             gpu::prefill_sharers());
  }
  const Halves& qkv() const { return qkv_; }
  std::uint16_t* device_qkv() { return qkv_device_->get(); }
  const Ints& tables() const { return tables_; }
  int table_stride() const { return table_stride_; }
  Bytes arena() const { return arena_device_->host(); }
  void empty_arena() { arena_device_->poison(); }
  void restore_arena() { *arena_device_ = arena_; }

  Halves prefill(gpu::KvSource source = gpu::KvSource::paged, const gpu::AccessLog* log = nullptr) {
    return prefill({source, log, false});
  }
  struct PrefillWay {
    gpu::KvSource source = gpu::KvSource::paged;
    const gpu::AccessLog* log = nullptr;
    bool portable = false;
    bool parts = true;  // as the plan says
  };
  Halves prefill(const PrefillWay& way) {
    const PrefillWork work(heads(), query_start(), context(), all_sequences());
    gpu::PrefillAttention op;
    op.type = type();
    op.shape = heads();
    op.source = way.source;
    work.give(op);
    if (!way.parts) op.parts = 0;
    op.query_start = start_device_->get();
    op.context = context_device_->get();
    op.tokens = tokens();
    op.qkv = qkv_device_->get();
    op.kv = kv();
    op.scale = scale();
    op.out = out_device_->get();
    op.log = way.log;
    op.portable = way.portable;
    out_device_->poison();
    gpu::prefill_attention(op, nullptr);
    return out_device_->host();
  }

  Halves decode(const gpu::AccessLog* log = nullptr) {
    const Device<std::int32_t> rows(all_sequences());
    const int count = static_cast<int>(sequences_.size());
    const Device<unsigned char> workspace(gpu::decode_workspace_bytes(count, heads()));
    gpu::DecodeAttention op = decode_op();
    op.rows = count;
    op.sequences = rows.get();
    op.workspace = workspace.get();
    op.log = log;
    op.whole_splits = log != nullptr;
    return decode(op);
  }
  Halves decode(const gpu::DecodeAttention& op) {
    out_device_->poison();
    gpu::plan_decode(op, nullptr);
    gpu::decode_attention(op, nullptr);
    return out_device_->host();
  }

  gpu::DecodeAttention decode_op() {
    gpu::DecodeAttention op;
    op.type = type();
    op.shape = heads();
    op.query_start = start_device_->get();
    op.context = context_device_->get();
    op.qkv = qkv_device_->get();
    op.kv = kv();
    op.scale = scale();
    op.out = out_device_->get();
    return op;
  }
  Halves out() const { return out_device_->host(); }
  void poison_out() { out_device_->poison(); }

  Floats expected() const {
    if (shape_.e4m3) return expected_as<kernels::E4m3>();
    return type() == Type::bf16 ? expected_as<kernels::Bf16>() : expected_as<kernels::F16>();
  }
  /// Largest distance of one head's row from the reference that the rounding of 16-bit weights and
  /// results explains.
  double bound() const { return 2 * rounding(type()); }
  void check_result(const Halves& found) const {
    check_rows(to_floats(type(), found), expected(), shape_.head_dim, bound());
  }

 private:
  static constexpr int kLayers = 2, kLayer = 1;

  int blocks_of(const Sequence& s) const {
    return (s.context + shape_.block_size - 1) / shape_.block_size;
  }

  void place_blocks() {
    int total = shape_.shared_blocks + 3;  // some without an owner
    for (const Sequence& s : sequences_) {
      total += blocks_of(s);
      table_stride_ = std::max(table_stride_, blocks_of(s));
    }
    const Ints order = numbers_.shuffled(total);
    auto next = order.begin() + shape_.shared_blocks;
    for (const Sequence& s : sequences_) {
      // Entries past a row's last block are never read: they would be far outside the arena.
      Ints row(static_cast<std::size_t>(table_stride_), 1 << 24);
      for (int i = 0; i < blocks_of(s); ++i)
        row[static_cast<std::size_t>(i)] =
            i < shape_.shared_blocks ? order[static_cast<std::size_t>(i)] : *next++;
      tables_.insert(tables_.end(), row.begin(), row.end());
    }
    arena_.assign(static_cast<std::size_t>(total * layout().block_elements() * kv_bytes()), 0xff);
  }

  void fill_arena() {
    for (std::size_t s = 0; s < sequences_.size(); ++s)
      for (int position = 0; position < sequences_[s].context; ++position) {
        const std::int32_t block = tables_[s * static_cast<std::size_t>(table_stride_) +
                                           static_cast<std::size_t>(position / shape_.block_size)];
        for (int head = 0; head < shape_.kv_heads; ++head) {
          const int slot = position % shape_.block_size;
          put(layout().key(block, kLayer, head, slot));
          put(layout().value(block, kLayer, head, slot));
        }
      }
  }

  int kv_bytes() const { return shape_.e4m3 ? 1 : 2; }
  void put(std::int64_t element) {
    std::uint8_t* const to = arena_.data() + element * kv_bytes();
    const Floats row = numbers_.many(shape_.head_dim);
    const Bytes bytes = to_bytes(row);
    const Halves halves = to_halves(shape_.type, row);
    if (shape_.e4m3)
      std::copy(bytes.begin(), bytes.end(), to);
    else
      std::memcpy(to, halves.data(), 2 * halves.size());
  }

  template <class Kv>
  Floats expected_as() const {
    Floats out(static_cast<std::size_t>(tokens() * out_width()));
    const Floats q = to_floats(type(), qkv_);
    const Ints start = query_start();
    kernels::reference::AttentionScratch scratch;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      const int stride = heads().qkv_width();
      const kernels::reference::QueryChunk chunk = {q.data() + std::int64_t{start[s]} * stride,
                                                    stride, sequences_[s].queries, heads().heads};
      const kernels::reference::SequenceKv<Kv> kv = {
          reinterpret_cast<const Kv*>(arena_.data()), layout(), kLayer,
          tables_.data() + s * static_cast<std::size_t>(table_stride_), sequences_[s].context};
      kernels::reference::paged_attention(out.data() + std::int64_t{start[s]} * out_width(), chunk,
                                          kv, scratch);
    }
    return out;
  }

  WorldShape shape_;
  std::vector<Sequence> sequences_;
  Numbers numbers_{37};
  Ints tables_;
  int table_stride_ = 0;
  Bytes arena_;
  Halves qkv_;
  std::optional<Device<std::uint8_t>> arena_device_;
  std::optional<Device<std::uint16_t>> qkv_device_, out_device_;
  std::optional<Device<std::int32_t>> context_device_, start_device_, table_device_;
};

}  // namespace gpu_test
