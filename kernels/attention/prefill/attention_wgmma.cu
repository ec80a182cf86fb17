// Attention of prompt chunks on Hopper's tensor cores, after FlashAttention-3 (Shah et al. 2024,
// arXiv 2407.08608).
//
// A warp-specialized kernel with persistent CTAs. A work item has 128 rows; a row is a query token
// and one of the query heads that share a key head. One producer warp loads queries, and keys and
// values in tiles of 128 from the first on, with the copy engine (TMA), as far ahead as there are
// buffers. Two consumer warpgroups compute 64 rows each: products of operands in shared memory,
// softmax (base 2) in registers. Each enqueues the scores of its next tile together with the
// weighted sum of the last one, so that a softmax runs beside products. The two alternate, so that
// one's softmax runs beside the other's products. A row's operations depend on its position alone:
// tiles that a row does not see leave its sums bitwise unchanged, so a prompt's results do not
// depend on its chunks.
#include "kernels/attention/prefill/wgmma_loader.cuh"
#include "kernels/device/capability.hpp"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tensor_map.cuh"

namespace kernels::gpu {
namespace prefill_wgmma {

__device__ inline void meet(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void announce(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

/// A consumer warpgroup.
template <class T, int kHeadDim, KvSource kSource>
struct Computer {
  using S = Shared<kHeadDim, kSource>;
  // Named barriers: kTurn + i gives warpgroup i its turn and is used by both warpgroups; kGroup + i
  // synchronizes the threads of warpgroup i.
  static constexpr int kTurn = 1, kGroup = 3;

  const Launch& l;
  S shared;
  unsigned char* memory;  // the same
  int group;
  Turn scored, summed;  // tiles of keys and of values
  GroupRows<T, kHeadDim, kSource> rows;

  __device__ Computer(const Launch& l, S shared, unsigned char* memory)
      : l(l), shared(shared), memory(memory), group(threadIdx.x / kGroupThreads) {}

  __device__ void run() {
    const Ring ring = shared.query_ring();
    if (group == 1) announce(kTurn, 2 * kGroupThreads);
    for (int round = 0; item_of(round) < l.items; ++round) {
      await_phase(ring.full, round % 2);
      const Item item = *reinterpret_cast<const Item*>(memory + S::kItem);
      compute(item, ring);
      store(item);
    }
    if (group == 0) meet(kTurn, 2 * kGroupThreads);
  }

  __device__ void take_products() { meet(kTurn + group, 2 * kGroupThreads); }
  __device__ void pass_products() { announce(kTurn + 1 - group, 2 * kGroupThreads); }
  __device__ static void leave(std::uint32_t empty) {
    if (threadIdx.x % 32 == 0) arrive(empty);
  }

  __device__ void compute(const Item& item, const Ring& queries) {
    const int tiles = (item.keys + kTileKeys - 1) / kTileKeys;
    rows.begin();
    await_phase(shared.key_ring(scored.stage).full, scored.parity);
    take_products();
    score();
    pass_products();
    wait_products<0>(rows.scores);
    end_score(item, 0, queries);
    rows.pack_weights();
    for (int tile = 1; tile < tiles; ++tile) {
      await_phase(shared.value_ring(summed.stage).full, summed.parity);
      await_phase(shared.key_ring(scored.stage).full, scored.parity);
      take_products();
      score();
      accumulate();
      pass_products();
      wait_products<1>(rows.scores);
      end_score(item, tile * kTileKeys, queries);
      end_sum();
      rows.rescale();
      rows.pack_weights();
    }
    await_phase(shared.value_ring(summed.stage).full, summed.parity);
    if (item.keys % kTileKeys != 0) clear_values(item.keys % kTileKeys);
    accumulate();
    end_sum();
  }

  __device__ void score() {
    begin_products();
    rows.score(matrix_at(shared.queries(group), S::kQueryPanel, S::kEightRows),
               matrix_at(shared.keys(scored.stage), S::kTilePanel, S::kTileEightRows));
  }
  __device__ void accumulate() {
    begin_products();
    rows.accumulate(matrix_at(shared.values(summed.stage), S::kTilePanel, S::kTileEightRows));
  }
  /// Completes the scores of a tile.
  __device__ void end_score(const Item& item, int first_key, const Ring& queries) {
    leave(shared.key_ring(scored.stage).empty);
    scored.advance();
    if (first_key + kTileKeys >= item.keys) leave(queries.empty);
    if (first_key + kTileKeys > item.position + 1)
      rows.mask(item.position, l.a.group_shift, first_key);
    rows.softmax(l.a.scale_log2);
  }
  __device__ void end_sum() {
    wait_products<0>(rows.out);
    pin(rows.scores);  // packed after this, when the weights are no longer read
    leave(shared.value_ring(summed.stage).empty);
    summed.advance();
  }

  /// Zeroes the values from row `first` of the tile on, which may be NaN although their weights are
  /// 0. Both warpgroups write them, so that neither waits for the other.
  __device__ void clear_values(int first) {
    constexpr int kPieces = kPanelRowBytes / 16;
    const int thread = threadIdx.x % kGroupThreads;
    unsigned char* values = memory + S::kValues + summed.stage * S::kTileBytes;
#pragma unroll
    for (int panel = 0; panel < S::kPanels; ++panel)
      for (int i = first * kPieces + thread; i < kTileKeys * kPieces; i += kGroupThreads) {
        constexpr int kEight = 8 * kPieces;
        *reinterpret_cast<uint4*>(values + panel * S::kTilePanel + i / kEight * S::kTileEightRows +
                                  i % kEight * 16) = uint4{};
      }
    show_stores();
    meet(kGroup + group, kGroupThreads);
  }

  /// Stores each warp's 16 rows through shared memory, 16 bytes per lane.
  __device__ void store(const Item& item) {
    constexpr int kPieces = 2 * kHeadDim / 16, kWarpRows = 16;
    unsigned char* staged = memory + S::kOut;
    __syncwarp();  // the previous item's rows have been stored
    rows.finish(staged);
    __syncwarp();
    const int first = static_cast<int>(threadIdx.x) / 32 * kWarpRows, shift = l.a.group_shift;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < kWarpRows * kPieces; i += 32) {
      const int row = first + i / kPieces, piece = i % kPieces;
      if (row >> shift >= item.queries) continue;
      const int head = (item.kv_head << shift) + (row & ((1 << shift) - 1));
      T* to = static_cast<T*>(l.a.out) +
              ((item.query_token + (row >> shift)) * l.a.shape.heads + head) * kHeadDim + 8 * piece;
      *reinterpret_cast<uint4*>(to) =
          *reinterpret_cast<const uint4*>(staged + swizzled<2 * kHeadDim>(row, piece));
    }
  }
};

template <class Shared>
__device__ void set_up(const Launch& l, Shared shared) {
  if (threadIdx.x != 0) return;
  fetch_map(l.query_map);
  fetch_map(l.kv_map);
  for (int place = 0; place < 1 + 2 * kStages; ++place) {
    set_up_barrier(shared.ring(place).full, 1);
    set_up_barrier(shared.ring(place).empty, kComputeWarps);
  }
  show_barriers();
}

template <class T, int kHeadDim, KvSource kSource, class Log>
__global__ __launch_bounds__(kThreads, 1) void prefill_attention_wgmma_kernel(
    [[maybe_unused]] const __grid_constant__ Launch l, [[maybe_unused]] const Log log) {
#if KERNELS_WGMMA
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared<kHeadDim, kSource> shared{shared_address(memory)};
  set_up(l, shared);
  __syncthreads();
  launch_dependents_and_wait();
  if (threadIdx.x < kGroups * kGroupThreads) {
    ask_registers<kComputeRegisters<Log>>();
    Computer<T, kHeadDim, kSource>(l, shared, memory).run();
  } else {
    release_registers<kCopyRegisters<Log>>();
    if (threadIdx.x / 32 == kComputeWarps)
      Loader<kHeadDim, kSource, Log>(l, log, shared, memory).run();
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
  const auto group = static_cast<std::uint32_t>(op.shape.group());
  return tensor_map<3>({op.type,
                        op.qkv,
                        {head, width / head, static_cast<std::uint64_t>(op.tokens)},
                        {head, width},
                        {kPanel, group, static_cast<std::uint32_t>(kGroupRows) >> a.group_shift}});
}

/// The number of blocks in the arena is unknown here; block tables name no block beyond it.
inline CUtensorMap arena_map(const PrefillAttention& op, std::uint32_t box_keys) {
  const auto head = static_cast<std::uint64_t>(op.shape.head_dim), panels = head / kPanel;
  constexpr std::uint64_t kMostEights = std::uint64_t{1} << 28;
  return tensor_map<4>({op.type,
                        op.kv.arena,
                        {kPanel, 8, panels, kMostEights},
                        {head, kPanel, 8 * head},
                        {kPanel, 8, static_cast<std::uint32_t>(panels), box_keys / 8}});
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
  l.kv_map = paged ? arena_map(op, box) : projection_map(op, box);
  const auto rows = [&](std::int64_t elements) {
    return static_cast<int>(elements / op.shape.head_dim);
  };
  const KvPlaces& places = l.a.places;
  l.block_rows = rows(places.block_elements);
  l.head_rows = rows(places.head_elements);
  l.key_rows = rows(places.layer_elements);
  l.value_rows = rows(places.layer_elements + places.value_distance);
  return l;
}

template <class T, int kHeadDim, KvSource kSource, class Log>
void launch_heads(const PrefillAttention& op, const Log& log, cudaStream_t stream) {
  const Launch l = launch_of(op);
  const int ctas = l.items < multiprocessors() ? l.items : multiprocessors();
  const Grid grid = {dim3(static_cast<unsigned>(ctas)), kThreads,
                     Shared<kHeadDim, kSource>::kBytes};
  launch_overlapping("prefill_attention", prefill_attention_wgmma_kernel<T, kHeadDim, kSource, Log>,
                     grid, stream, l, log);
}

template <KvSource kSource, class Log>
void launch(const PrefillAttention& op, const Log& log, cudaStream_t stream) {
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (op.shape.head_dim == 64) return launch_heads<T, 64, kSource>(op, log, stream);
    launch_heads<T, 128, kSource>(op, log, stream);
  });
}

}  // namespace prefill_wgmma

void prefill_attention_wgmma(const PrefillAttention& op, cudaStream_t stream) {
  if (op.source == KvSource::contiguous)
    return prefill_wgmma::launch<KvSource::contiguous>(op, NoLog{}, stream);
  with_log(op.log,
           [&](const auto& log) { prefill_wgmma::launch<KvSource::paged>(op, log, stream); });
}

}  // namespace kernels::gpu
