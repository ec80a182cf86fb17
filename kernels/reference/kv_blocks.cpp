#include "kernels/reference/kv_blocks.hpp"

#include <cstddef>
#include <cstring>

#include "kernels/mixed_bits.hpp"

namespace kernels::reference {
namespace {

template <class Kv>
void convert(Kv* to, const float* from, int count) {
  for (int i = 0; i < count; ++i) to[i] = from_float<Kv>(from[i]);
}

/// Writes one head's key or value of one token, then logs the write.
template <class Kv, class Log>
void write_slot(Kv* to, const float* from, int count, const Log& log, AccessKind kind,
                const AccessTrace::Slots& slot) {
  if constexpr (Log::kOn) {
    if (log.trace.logs_head(slot.kv_head)) {
      const std::uint64_t issued = log.trace.now();
      convert(to, from, count);
      return log.trace.wrote(kind, slot, issued);
    }
  }
  convert(to, from, count);
}

}  // namespace

template <class Kv, class Log>
void append_kv(Kv* arena, const KvLayout& layout, int layer, const float* keys, const float* values,
               int stride, const PagedTokens& tokens, const Log& log) {
  for (int t = 0; t < tokens.num_tokens; ++t, keys += stride, values += stride) {
    const int row = tokens.sequence[t];
    const std::int32_t* table = tokens.block_tables + std::int64_t{row} * tokens.table_stride;
    const std::int32_t block = table[tokens.positions[t] / layout.block_size];
    const int slot = tokens.positions[t] % layout.block_size;
    for (int head = 0; head < layout.kv_heads; ++head) {
      const int from = head * layout.head_dim;
      const AccessTrace::Slots written = {block, head, slot, 1, row};
      write_slot(arena + layout.key(block, layer, head, slot), keys + from, layout.head_dim, log,
                 AccessKind::write_key, written);
      write_slot(arena + layout.value(block, layer, head, slot), values + from, layout.head_dim,
                 log, AccessKind::write_value, written);
    }
  }
}

#define FOR_KV(Kv)                                                                    \
  template void append_kv(Kv*, const KvLayout&, int, const float*, const float*, int, \
                          const PagedTokens&, const NoTrace&);                        \
  template void append_kv(Kv*, const KvLayout&, int, const float*, const float*, int, \
                          const PagedTokens&, const Traced&);
FOR_KV(float)
FOR_KV(Bf16)
FOR_KV(F16)
FOR_KV(E4m3)
#undef FOR_KV

void copy_block(void* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void poison_block(void* block, std::int64_t bytes) {
  std::memset(block, 0xff, static_cast<std::size_t>(bytes));
}

std::uint64_t checksum_block(const void* block, std::int64_t bytes) {
  const auto* at = static_cast<const std::byte*>(block);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < bytes / 4; ++i) {
    std::uint32_t word;
    std::memcpy(&word, at + i * 4, sizeof word);
    sum += mixed_bits(static_cast<std::uint64_t>(i) << 32 | word);
  }
  return sum;
}

}  // namespace kernels::reference
