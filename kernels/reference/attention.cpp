#include "kernels/reference/attention.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/reference/sums.hpp"

namespace kernels::reference {
namespace {

template <class Kv>
void to_floats(float* to, const Kv* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

/// Reads `count` scalars of the slots and logs the read when it has completed.
template <class Kv, class Log>
void read_slots(float* to, const Kv* from, std::int64_t count, const Log& log, AccessKind kind,
                AccessTrace::Slots slots) {
  if constexpr (Log::kOn) {
    if (log.trace.logs_head(slots.kv_head)) {
      slots.row = log.row;
      const std::uint64_t issued = log.trace.now();
      to_floats(to, from, count);
      return log.trace.read(kind, slots, issued);
    }
  }
  to_floats(to, from, count);
}

/// Gathers one head's keys and values from the blocks and converts them to float32.
template <class Kv, class Log>
void gather_head(const SequenceKv<Kv>& kv, int head, AttentionScratch& scratch, const Log& log) {
  const KvLayout& layout = kv.layout;
  const auto elements =
      static_cast<std::size_t>(kv.context) * static_cast<std::size_t>(layout.head_dim);
  scratch.keys.resize(elements);
  scratch.values.resize(elements);
  for (int first = 0; first < kv.context; first += layout.block_size) {
    const std::int64_t block = kv.blocks[first / layout.block_size];
    const int slots = std::min(layout.block_size, kv.context - first);
    const std::int64_t at = std::int64_t{first} * layout.head_dim;
    const std::int64_t count = std::int64_t{slots} * layout.head_dim;
    const AccessTrace::Slots accessed = {block, head, 0, slots, 0};
    read_slots(scratch.keys.data() + at, kv.arena + layout.key(block, kv.layer, head, 0), count,
               log, AccessKind::read_key, accessed);
    read_slots(scratch.values.data() + at, kv.arena + layout.value(block, kv.layer, head, 0), count,
               log, AccessKind::read_value, accessed);
  }
}

/// scores = exp(x - max(x)); returns their sum. Subtracting the maximum leaves quotients unchanged
/// and avoids overflow.
float exponentials(float* scores, int count) {
  const float greatest = *std::max_element(scores, scores + count);
  float sum = 0;
  for (int j = 0; j < count; ++j) {
    scores[j] = std::exp(scores[j] - greatest);
    sum += scores[j];
  }
  return sum;
}

/// Columns of the result that are summed together, in registers.
constexpr int kColumns = 16;

/// out[d] = sum over j of scores[j] * values[j][d], divided by `total`, in the order of the keys.
void weighted_columns(float* out, const float* scores, float total, const float* values, int count,
                      int stride, int columns) {
  float sums[kColumns] = {};
  if (columns == kColumns) {
    for (int j = 0; j < count; ++j, values += stride)
      for (int d = 0; d < kColumns; ++d) sums[d] += scores[j] * values[d];
  } else {
    for (int j = 0; j < count; ++j, values += stride)
      for (int d = 0; d < columns; ++d) sums[d] += scores[j] * values[d];
  }
  for (int d = 0; d < columns; ++d) out[d] = sums[d] / total;
}

/// Attention of one query of one head over the first `visible` keys.
void attend(float* out, const float* q, int visible, int head_dim, AttentionScratch& scratch) {
  const float scale = 1 / std::sqrt(static_cast<float>(head_dim));
  float* scores = scratch.scores.data();
  for (int j = 0; j < visible; ++j)
    scores[j] = dot(q, scratch.keys.data() + std::int64_t{j} * head_dim, head_dim) * scale;
  const float sum = exponentials(scores, visible);
  for (int d = 0; d < head_dim; d += kColumns)
    weighted_columns(out + d, scores, sum, scratch.values.data() + d, visible, head_dim,
                     std::min(kColumns, head_dim - d));
}

}  // namespace

template <class Kv, class Log>
void paged_attention(float* out, const QueryChunk& chunk, const SequenceKv<Kv>& kv,
                     AttentionScratch& scratch, const Log& log) {
  const int head_dim = kv.layout.head_dim;
  const int group = chunk.heads / kv.layout.kv_heads;
  scratch.scores.resize(static_cast<std::size_t>(kv.context));
  for (int kv_head = 0; kv_head < kv.layout.kv_heads; ++kv_head) {
    gather_head(kv, kv_head, scratch, log);
    for (std::int64_t i = 0; i < chunk.queries; ++i) {
      const int visible = kv.context - chunk.queries + static_cast<int>(i) + 1;
      for (int head = kv_head * group; head < (kv_head + 1) * group; ++head)
        attend(out + (i * chunk.heads + head) * head_dim,
               chunk.q + i * chunk.stride + head * head_dim, visible, head_dim, scratch);
    }
  }
}

#define FOR_KV(Kv)                                                                \
  template void paged_attention(float*, const QueryChunk&, const SequenceKv<Kv>&, \
                                AttentionScratch&, const NoTrace&);               \
  template void paged_attention(float*, const QueryChunk&, const SequenceKv<Kv>&, \
                                AttentionScratch&, const Traced&);
FOR_KV(float)
FOR_KV(Bf16)
FOR_KV(F16)
FOR_KV(E4m3)
#undef FOR_KV

}  // namespace kernels::reference
