#pragma once
#include "kernels/attention/prefill/wgmma_loader.cuh"

/// The consumer warpgroups of prefill attention on Hopper: scores, sums, and the merges of
/// segments.
namespace kernels::gpu::prefill_wgmma {

__device__ inline void meet(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void announce(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

/// A consumer warpgroup, of activations of type T.
template <class T, class Product, int kHeadDim, KvSource kSource>
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
  GroupRows<Product, kHeadDim, kSource> rows;
  RowWeights merged;  // of earlier segments, whose sums are in shared memory

  __device__ Computer(const Launch& l, S shared, unsigned char* memory)
      : l(l), shared(shared), memory(memory), group(threadIdx.x / kGroupThreads) {}

  __device__ void run() {
    const Ring ring = shared.query_ring();
    if (group == 1) announce(kTurn, 2 * kGroupThreads);
    for (int round = 0;; ++round) {
      await_phase(ring.full, round % 2);
      const Part part = *reinterpret_cast<const Part*>(memory + S::kPart);
      if (part.queries == 0) break;
      compute(part, ring);
      if (part.whole() || merge_all(part)) store(part);
    }
    if (group == 0) meet(kTurn, 2 * kGroupThreads);
  }

  __device__ void take_products() { meet(kTurn + group, 2 * kGroupThreads); }
  __device__ void pass_products() { announce(kTurn + 1 - group, 2 * kGroupThreads); }
  __device__ static void leave(std::uint32_t empty) {
    if (threadIdx.x % 32 == 0) arrive(empty);
  }

  __device__ void compute(const Part& part, const Ring& queries) {
    int segment = prefill::segment_of(part.begin), tile = part.begin;
    rows.begin();
    if constexpr (!std::is_same_v<T, Product>) convert_queries();
    await_phase(shared.key_ring(scored.stage).full, scored.parity);
    take_products();
    score();
    pass_products();
    wait_products<0>(rows.scores);
    end_score(part, tile++, queries);
    rows.pack_weights();
    while (true) {
      const int end = min(part.end, prefill::segment_begin(segment + 1));
      for (; tile < end; ++tile) {
        score_and_sum();
        end_score(part, tile, queries);
        end_sum();
        rows.rescale();
        rows.pack_weights();
      }
      if (tile == part.end) break;
      // The next segment's scores, beside the last sums of this one.
      score_and_sum();
      const RowWeights weights = take_weights();
      end_score(part, tile++, queries);
      end_sum();
      close_segment(part, segment++, weights);
      rows.pack_weights();
    }
    await_phase(shared.value_ring(summed.stage).full, summed.parity);
    if (part.end == part.tiles() && part.keys % kTileKeys != 0) clear_values(part.keys % kTileKeys);
    accumulate();
    end_sum();
    close_part(part, segment);
  }

  /// Converts this warpgroup's queries to the products' type, in place.
  __device__ void convert_queries() {
    uint4* queries = reinterpret_cast<uint4*>(memory + group * S::kQueryBytes);
    for (int i = threadIdx.x % kGroupThreads; i < S::kQueryBytes / 16; i += kGroupThreads) {
      const uint4 eight = queries[i];
      queries[i] = {as_product<T, Product>(eight.x), as_product<T, Product>(eight.y),
                    as_product<T, Product>(eight.z), as_product<T, Product>(eight.w)};
    }
    show_stores();
    meet(kGroup + group, kGroupThreads);
  }

  /// Enqueues the scores of the next tile and the sums of the last one, and waits for the scores.
  __device__ void score_and_sum() {
    await_phase(shared.value_ring(summed.stage).full, summed.parity);
    await_phase(shared.key_ring(scored.stage).full, scored.parity);
    take_products();
    score();
    accumulate();
    pass_products();
    wait_products<1>(rows.scores);
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
  __device__ void end_score(const Part& part, int tile, const Ring& queries) {
    leave(shared.key_ring(scored.stage).empty);
    scored.advance();
    if (tile + 1 == part.end) {
      __syncwarp();  // all lanes have read what the part is
      leave(queries.empty);
    }
    const int first_key = tile * kTileKeys;
    if (first_key + kTileKeys > part.position + 1) rows.mask(part.position, l.a.rows, first_key);
    rows.softmax(l.a.scale_log2);
  }
  __device__ void end_sum() {
    wait_products<0>(rows.out);
    pin(rows.scores);  // packed after this, when the weights are no longer read
    leave(shared.value_ring(summed.stage).empty);
    summed.advance();
  }

  /// Returns the segment's largest scores and weights, and begins the next one's.
  __device__ RowWeights take_weights() {
    RowWeights last;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      last.top[half] = rows.top[half], last.weight[half] = quad_sum(rows.weight[half]);
    rows.begin_scores();
    return last;
  }
  /// Keeps the sums of a segment that another one follows, and begins the next one's.
  __device__ void close_segment(const Part& part, int segment, const RowWeights& last) {
    if (part.begin > 0)
      leave_in_slot(part.slot + 1 + segment - part.cut, last);
    else
      keep(part, segment, last);
    rows.begin_sums();
  }
  /// Leaves the part's sums in a slot, or those of a whole item in `rows` and `merged`.
  __device__ void close_part(const Part& part, int segment) {
    const RowWeights last = take_weights();
    if (part.begin > 0) return leave_in_slot(part.slot + 1 + segment - part.cut, last);
    if (segment == 0) {
      merged = last;
    } else {
      const Merge merges[2] = {merge_of(part, segment, 0, last), merge_of(part, segment, 1, last)};
      const float2* earlier = kept();
      each_pair(rows.out, 32,
                [&](float2& pair, int i, int half) { pair = merges[half](earlier[i], pair); });
    }
    if (!part.whole()) leave_in_slot(part.slot, merged);
  }

  __device__ Merge merge_of(const Part& part, int segment, int half, const RowWeights& later) {
    const int first_key = prefill::segment_begin(segment) * kTileKeys;
    const bool seen = part.position + l.a.rows.token(rows.row(half)) >= first_key;
    return Merge(seen, merged.top[half], merged.weight[half], later.top[half], later.weight[half],
                 l.a.scale_log2);
  }
  /// This thread's sums of earlier segments.
  __device__ float2* kept() const {
    return reinterpret_cast<float2*>(memory + S::kOut +
                                     static_cast<int>(threadIdx.x) / 32 * S::kWarpSums) +
           threadIdx.x % 32;
  }
  /// Merges a segment into the sums that are kept; the first one is kept as it is.
  __device__ void keep(const Part& part, int segment, const RowWeights& last) {
    float2* sums = kept();
    if (segment == 0) {
      __syncwarp();  // the previous part's rows have been stored
      merged = last;
      each_pair(rows.out, 32, [&](float2& pair, int i, int) { sums[i] = pair; });
      return;
    }
    const Merge merges[2] = {merge_of(part, segment, 0, last), merge_of(part, segment, 1, last)};
    each_pair(rows.out, 32,
              [&](float2& pair, int i, int half) { sums[i] = merges[half](sums[i], pair); });
  }

  static constexpr int kThreads = Workspace::kThreadCount;
  static constexpr int kSums = kHeadDim / 8 * 2;  // pairs of a thread
  __device__ void leave_in_slot(int place, const RowWeights& weights) {
    float2* slot = l.workspace.slot(place);
    each_pair(rows.out, kThreads, [&](float2& pair, int i, int) { slot[i] = pair; });
#pragma unroll
    for (int half = 0; half < 2; ++half)
      slot[(kSums + half) * kThreads] = {weights.top[half], weights.weight[half]};
  }
  __device__ RowWeights weights_in(const float2* slot) const {
    const float2 first = __ldcg(slot + kSums * kThreads);
    const float2 second = __ldcg(slot + (kSums + 1) * kThreads);
    return {{first.x, second.x}, {first.y, second.y}};
  }

  /// Counts the part's segments as done. Returns true to the warpgroup that completes the item,
  /// with the sums of all its segments in `rows` and `merged`.
  __device__ bool merge_all(const Part& part) {
    const int segments = prefill::segments_of(part.keys);
    const int mine = prefill::segment_of(part.end - 1) + 1 - prefill::segment_of(part.begin);
    int* done = l.workspace.done + part.slot * kGroups + group;
    int* counted = reinterpret_cast<int*>(memory + S::kCounted) + group;
    __threadfence();
    meet(kGroup + group, kGroupThreads);
    if (threadIdx.x % kGroupThreads == 0) *counted = atomicAdd(done, mine) + mine;
    meet(kGroup + group, kGroupThreads);
    // A vote, which the compiler knows to be alike in all lanes: with a branch that may not be, it
    // moves the operands of all products through ordinary registers.
    const bool last = __all_sync(kAllLanes, *counted == segments);
    meet(kGroup + group, kGroupThreads);  // before the next part's count
    if (!last) return false;
    __threadfence();
    if (threadIdx.x % kGroupThreads == 0) *done = 0;
    merge_slots(part, segments);
    return true;
  }
  __device__ void merge_slots(const Part& part, int segments) {
    const float2* first = l.workspace.slot(part.slot);
    merged = weights_in(first);
    each_pair(rows.out, kThreads, [&](float2& pair, int i, int) { pair = __ldcg(first + i); });
    for (int segment = part.cut; segment < segments; ++segment) {
      const float2* later = l.workspace.slot(part.slot + 1 + segment - part.cut);
      const RowWeights last = weights_in(later);
      const Merge merges[2] = {merge_of(part, segment, 0, last), merge_of(part, segment, 1, last)};
      each_pair(rows.out, kThreads, [&](float2& pair, int i, int half) {
        pair = merges[half](pair, __ldcg(later + i));
      });
    }
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
  __device__ void store(const Part& part) {
    constexpr int kPieces = 2 * kHeadDim / 16, kWarpRows = 16;
    // Row by row from the start of the warp's memory.
    unsigned char* staged =
        memory + S::kOut +
        static_cast<int>(threadIdx.x) / 32 * (S::kWarpSums - kWarpRows * 2 * kHeadDim);
    __syncwarp();  // what was there has been read
    rows.template finish<T>(staged, merged.weight);
    __syncwarp();
    const int first = static_cast<int>(threadIdx.x) / 32 * kWarpRows;
    const TileRows& tile = l.a.rows;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < kWarpRows * kPieces; i += 32) {
      const int row = first + i / kPieces, piece = i % kPieces;
      const int token = tile.token(row), head = part.kv_head * tile.group + tile.head(row);
      if (token >= part.queries || !tile.has_token(row)) continue;
      T* to = static_cast<T*>(l.a.out) +
              ((part.query_token + token) * l.a.shape.heads + head) * kHeadDim + 8 * piece;
      *reinterpret_cast<uint4*>(to) =
          *reinterpret_cast<const uint4*>(staged + swizzled<2 * kHeadDim>(row, piece));
    }
  }
};

}  // namespace kernels::gpu::prefill_wgmma
