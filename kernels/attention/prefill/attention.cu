// Prefill attention: selects the kernel, and has the portable one without an access log; see
// kernel.cuh.
#include <algorithm>

#include "kernels/attention/logged.hpp"
#include "kernels/attention/prefill/kernel.cuh"
#include "kernels/device/capability.hpp"

namespace kernels::gpu {

int prefill_tile_tokens(const HeadShape& shape) {
  return prefill::kRows >> prefill::log2_of_group(shape.group());
}

std::vector<PrefillTile> prefill_tiles(const HeadShape& shape,
                                       const std::vector<std::int32_t>& query_start,
                                       const std::vector<std::int32_t>& context,
                                       const std::vector<std::int32_t>& sequences) {
  const int tokens = prefill_tile_tokens(shape);
  const auto queries = [&](std::int32_t s) {
    const auto i = static_cast<std::size_t>(s);
    return query_start[i + 1] - query_start[i];
  };
  std::vector<PrefillTile> tiles;
  for (const std::int32_t s : sequences)
    for (int first = 0; first < queries(s); first += tokens) tiles.push_back({s, first});
  const auto last_key = [&](const PrefillTile& tile) {
    return context[static_cast<std::size_t>(tile.sequence)] - queries(tile.sequence) + tile.first;
  };
  std::stable_sort(tiles.begin(), tiles.end(), [&](const PrefillTile& a, const PrefillTile& b) {
    return last_key(a) > last_key(b);
  });
  return tiles;
}

void prefill_attention(const PrefillAttention& op, cudaStream_t stream) {
  const int size = op.kv.layout.block_size;
  require(op.source == KvSource::contiguous || (size > 0 && size % 8 == 0 && size <= 1024),
          "prefill_attention: block_size is not a multiple of 8 up to 1024");
  require(op.tiles <= 65535, "prefill_attention: more than 65535 tiles");
  require(op.tiles == 0 || op.tokens > 0, "prefill_attention: tiles of no tokens");
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "prefill_attention: head_dim is neither 64 nor 128");
  prefill::log2_of_group(op.shape.group());  // throws for groups that tiles do not support
  if (op.tiles == 0) return;
  const bool logged = op.log && op.source == KvSource::paged;
  if (has_wgmma() && !op.portable)
    return logged ? prefill_attention_wgmma_logged(op, stream)
                  : prefill_attention_wgmma(op, stream);
  if (logged) return prefill_attention_logged(op, stream);
  if (op.source == KvSource::contiguous)
    return prefill::launch<KvSource::contiguous>(op, NoLog{}, stream);
  prefill::launch<KvSource::paged>(op, NoLog{}, stream);
}

}  // namespace kernels::gpu
