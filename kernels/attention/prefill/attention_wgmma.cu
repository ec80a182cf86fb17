// Attention of prompt chunks on Hopper's tensor cores, after FlashAttention-3 (Shah et al. 2024,
// arXiv 2407.08608).
//
// A warp-specialized kernel with persistent CTAs. A work item has 128 rows; a row is a query token
// and one of the query heads that share a key head. One producer warp loads queries, and keys and
// values in tiles of 128 in order, with the copy engine (TMA), as far ahead as there are buffers.
// Two consumer warpgroups compute 64 rows each: products of operands in shared memory, softmax
// (base 2) in registers. Each enqueues the scores of its next tile together with the weighted sum
// of the last one, so that a softmax runs beside products. The two alternate, so that one's softmax
// runs beside the other's products.
//
// KV of one byte a number (e4m3) is copied to the second half of its buffer, and the producer
// warpgroup's other warps widen it to float16, the type of all products then.
//
// Keys are summed by segments (segments.hpp), whose sums are merged in order. Where whole items
// would leave multiprocessors idle, as with few tokens after a long prefix, items are cut into
// parts (plan.cu), as in Flash-Decoding: the sums of the first part and of every later segment are
// left in device memory, and the CTA that is done last merges them. A row's operations depend on
// its position alone: tiles and segments that a row does not see leave its sums bitwise unchanged,
// so a prompt's results depend neither on its chunks nor on the parts.
#include "kernels/attention/prefill/wgmma_widener.cuh"
#include "kernels/device/capability.hpp"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tensor_map.cuh"

namespace kernels::gpu {
namespace prefill_wgmma {

template <class Shared>
__device__ void set_up(const Launch& l, Shared shared) {
  if (threadIdx.x != 0) return;
  fetch_map(l.query_map);
  fetch_map(l.kv_map);
  for (int place = 0; place < 1 + 2 * kStages; ++place) {
    set_up_barrier(shared.ring(place).full, 1);
    set_up_barrier(shared.ring(place).raw, 1);
    set_up_barrier(shared.ring(place).empty, kComputeWarps);
  }
  show_barriers();
}

template <class T, class Kv, int kHeadDim, KvSource kSource, class Log>
__global__ __launch_bounds__(kThreads, 1) void prefill_attention_wgmma_kernel(
    [[maybe_unused]] const __grid_constant__ Launch l, [[maybe_unused]] const Log log) {
#if KERNELS_WGMMA
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared<kHeadDim, kSource> shared{shared_address(memory)};
  set_up(l, shared);
  __syncthreads();
  launch_dependents_and_wait();
  if (threadIdx.x < kGroups * kGroupThreads) {
    ask_registers<kComputeRegisters<Kv, Log>>();
    Computer<T, ProductType<T, Kv>, kHeadDim, kSource>(l, shared, memory).run();
  } else {
    release_registers<kCopyRegisters<Kv, Log>>();
    if (threadIdx.x / 32 == kComputeWarps)
      Loader<Kv, kHeadDim, kSource, Log>(l, log, shared, memory).run();
    else if constexpr (sizeof(Kv) == 1)
      Widener<ProductType<T, Kv>, kHeadDim, kSource>(l, shared).run();
  }
#endif
}

/// Rows of a TMA box of the arena: the largest power of two that divides the block size, up to 64.
inline int box_rows(int block_size) {
  const int power = block_size & -block_size;
  return power < 64 ? power : 64;
}

inline CUtensorMap query_map(const PrefillAttention& op, const Arguments& a) {
  const auto head = static_cast<std::uint64_t>(op.shape.head_dim),
             width = static_cast<std::uint64_t>(op.shape.qkv_width());
  return tensor_map<3>({op.type,
                        op.qkv,
                        {head, width / head, static_cast<std::uint64_t>(op.tokens)},
                        {head, width},
                        {kPanel, static_cast<std::uint32_t>(a.rows.group),
                         static_cast<std::uint32_t>(a.rows.half_tokens)}});
}

/// Rows of an arena in eights, of two bytes a number; twice as many have one. The number of blocks
/// is unknown here; block tables name no block beyond it.
constexpr std::uint64_t kMostEights = std::uint64_t{1} << 28;

inline CUtensorMap arena_map(const PrefillAttention& op, std::uint32_t box_keys) {
  const auto head = static_cast<std::uint64_t>(op.shape.head_dim), panels = head / kPanel;
  return tensor_map<4>({op.type,
                        op.kv.arena,
                        {kPanel, 8, panels, kMostEights},
                        {head, kPanel, 8 * head},
                        {kPanel, 8, static_cast<std::uint32_t>(panels), box_keys / 8}});
}

/// A map of an arena with one byte a number, whose rows are not swizzled.
inline CUtensorMap arena_bytes_map(const PrefillAttention& op, std::uint32_t box_keys) {
  const auto head = static_cast<std::uint64_t>(op.shape.head_dim);
  return tensor_map<3>({op.type,
                        op.kv.arena,
                        {head, 8, 2 * kMostEights},
                        {head, 8 * head},
                        {static_cast<std::uint32_t>(head), 8, box_keys / 8},
                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        true});
}

inline CUtensorMap projection_map(const PrefillAttention& op, std::uint32_t box_keys) {
  const auto width = static_cast<std::uint64_t>(op.shape.qkv_width());
  return tensor_map<2>({op.type,
                        op.qkv,
                        {width, static_cast<std::uint64_t>(op.tokens)},
                        {width},
                        {kPanel, box_keys}});
}

inline Launch launch_of(const PrefillAttention& op) {
  const bool paged = op.source == KvSource::paged;
  Launch l = {};
  l.a = prefill::arguments(op);
  l.items = op.tiles * op.shape.kv_heads;
  l.box_keys = paged ? box_rows(op.kv.layout.block_size) : kPanel;
  const auto box = static_cast<std::uint32_t>(l.box_keys);
  l.query_map = query_map(op, l.a);
  l.kv_map = !paged       ? projection_map(op, box)
             : op.kv.e4m3 ? arena_bytes_map(op, box)
                          : arena_map(op, box);
  const auto rows = [&](std::int64_t elements) {
    return static_cast<int>(elements / op.shape.head_dim);
  };
  // A log has a place for each item, which one CTA writes.
  if (op.parts > 0 && op.log == nullptr) {
    l.items = op.parts;
    l.parts = op.part_list;
    l.workspace = Workspace::lay_out(op.workspace, prefill_slots(op.sharers), op.shape);
  }
  const KvPlaces& places = l.a.places;
  l.block_rows = rows(places.block_elements);
  l.head_rows = rows(places.head_elements);
  l.key_rows = rows(places.layer_elements);
  l.value_rows = rows(places.layer_elements + places.value_distance);
  return l;
}

template <class T, class Kv, int kHeadDim, KvSource kSource, class Log>
void launch_heads(const PrefillAttention& op, const Log& log, cudaStream_t stream) {
  const Launch l = launch_of(op);
  const int ctas = l.items < multiprocessors() ? l.items : multiprocessors();
  const Grid grid = {dim3(static_cast<unsigned>(ctas)), kThreads,
                     Shared<kHeadDim, kSource>::kBytes};
  launch_overlapping("prefill_attention",
                     prefill_attention_wgmma_kernel<T, Kv, kHeadDim, kSource, Log>, grid, stream, l,
                     log);
}

template <KvSource kSource, class Log>
void launch(const PrefillAttention& op, const Log& log, cudaStream_t stream) {
  prefill::with_source<kSource>(op, [&](auto tag, auto of_kv) {
    using T = typename decltype(tag)::type;
    using Kv = typename decltype(of_kv)::type;
    if (op.shape.head_dim == 64) return launch_heads<T, Kv, 64, kSource>(op, log, stream);
    launch_heads<T, Kv, 128, kSource>(op, log, stream);
  });
}

}  // namespace prefill_wgmma

std::size_t prefill_workspace_bytes(const HeadShape& shape, int sharers) {
  return prefill_wgmma::Workspace::lay_out(nullptr, prefill_slots(sharers), shape).bytes;
}

void prefill_attention_wgmma(const PrefillAttention& op, cudaStream_t stream) {
  if (op.source == KvSource::contiguous)
    return prefill_wgmma::launch<KvSource::contiguous>(op, NoLog{}, stream);
  with_log(op.log,
           [&](const auto& log) { prefill_wgmma::launch<KvSource::paged>(op, log, stream); });
}

}  // namespace kernels::gpu
