#pragma once
#include "kernels/attention/prefill/wgmma_log.cuh"
#include "kernels/attention/prefill/wgmma_segments.cuh"

namespace kernels::gpu::prefill_wgmma {

/// Arguments of a launch.
struct Launch {
  CUtensorMap query_map;  // (column, head, token) of the projection; boxes of a warpgroup's rows
  CUtensorMap kv_map;     // paged: (column, slot of eight, panel, eight slots) of the arena;
                          // contiguous: (column, token) of the projection; of one byte a number:
                          // (column, slot of eight, eight slots) of the arena
  Arguments a;
  int box_keys;  // keys in a box of kv_map, which are in one block
  // Paged: distances in rows of head_dim numbers: between blocks, between heads, and from a block's
  // start to the layer's keys and values.
  int block_rows, head_rows, key_rows, value_rows;
  int items;                 // tiles * kv_heads, or parts
  const PrefillPart* parts;  // [items], or none: CTAs take whole items
  Workspace workspace;       // with parts
};

constexpr int kAllTiles = 1 << 20;  // more than a context has
__device__ inline PrefillPart part_of(const Launch& l, int item) {
  return l.parts == nullptr ? PrefillPart{item, 0, kAllTiles, 0, 0} : l.parts[item];
}

/// The producer warp: copies queries, keys and values of all the CTA's parts, as far ahead as there
/// are buffers. A lane issues the same box of each tile. KV of one byte a number is copied, row by
/// row, to the second half of its buffer.
template <class Kv, int kHeadDim, KvSource kSource, class Log>
struct Loader {
  using S = Shared<kHeadDim, kSource>;
  static constexpr bool kOneByte = sizeof(Kv) == 1;
  static constexpr int kBoxPanels = S::kPaged ? S::kPanels : 1;  // in a box of keys or values
  static constexpr int kRowBytes = static_cast<int>(sizeof(Kv)) * kHeadDim;

  const Launch& l;
  const Log& log;
  S shared;
  Part* part_place;  // shared memory
  Turn turn;         // buffer of keys and values
  int parity = 0;    // parity of the queries' buffer
  // The part of a tile that this lane copies: the box, its first panel, and its source.
  int box, panel;
  int block = 0, slot = 0;  // paged: of its first key in the next tile to load

  __device__ Loader(const Launch& l, const Log& log, S shared, unsigned char* memory)
      : l(l),
        log(log),
        shared(shared),
        part_place(reinterpret_cast<Part*>(memory + S::kPart)),
        box(lane() * kBoxPanels / S::kPanels),
        panel(lane() * kBoxPanels % S::kPanels) {}
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  __device__ void run() {
    for (int round = 0, i = item_of(0); i < l.items; i = item_of(++round)) load_part(part_of(l, i));
    hand_over({}, 0);  // the end
  }

  __device__ void load_part(const PrefillPart& part) {
    const int heads = l.a.shape.kv_heads;
    const Work work(l.a, part.item % heads, part.item / heads);
    ItemLog<Log> logged(log, l.a, work, part.item);
    look_up(work, part.begin * kTileKeys);
    load_queries(work, part);
    const int last = min(work.keys, part.end * kTileKeys);
    for (int first = part.begin * kTileKeys; first < last; first += kTileKeys)
      load_tile(work, first, logged);
    logged.close();
  }

  /// Gives consumers the next part when they need the last one's queries no more, and makes them
  /// wait for `bytes` bytes of queries.
  __device__ void hand_over(const Part& part, int bytes) {
    const Ring ring = shared.query_ring();
    await_phase(ring.empty, parity ^ 1);
    parity ^= 1;
    if (lane() == 0) {
      *part_place = part;
      arrive_for_copies(ring.full, bytes);
    }
    __syncwarp();
  }
  __device__ void load_queries(const Work& work, const PrefillPart& from) {
    Part part = {work.query_token, work.queries, work.position, work.keys, work.kv_head,
                 from.begin,       from.end,     from.slot,     from.cut};
    part.end = min(part.end, part.tiles());
    hand_over(part, kGroups * S::kPanels * l.a.rows.half_rows() * kPanelRowBytes);
    const int group = lane() / S::kPanels, panel = lane() % S::kPanels;
    if (group < kGroups)
      copy_box(shared.queries(group) + panel * S::kQueryPanel, l.query_map, panel * kPanel,
               work.first_head(), static_cast<int>(work.query_token) + group * l.a.rows.half_tokens,
               shared.query_ring().full);
  }

  /// Finds this lane's box of the tile.
  __device__ void look_up(const Work& work, int first) {
    if constexpr (S::kPaged) {
      const int key = first + box * l.box_keys;
      if (box * l.box_keys >= kTileKeys || key >= work.keys) return;  // none
      const EightTokens found = l.a.places.find(work.table, key);
      block = found.block;
      slot = found.slot;
    }
  }

  __device__ void load_tile(const Work& work, int first, ItemLog<Log>& logged) {
    const Ring keys = shared.key_ring(turn.stage), values = shared.value_ring(turn.stage);
    if constexpr (Log::kOn) logged.enqueued(first / kTileKeys);
    load_side<AccessKind::read_key>(work, first, keys, shared.keys(turn.stage), logged);
    load_side<AccessKind::read_value>(work, first, values, shared.values(turn.stage), logged);
    look_up(work, first + kTileKeys);
    if constexpr (Log::kOn) {
      await_phase(kOneByte ? keys.raw : keys.full, turn.parity);
      logged.arrived(AccessKind::read_key);
      await_phase(kOneByte ? values.raw : values.full, turn.parity);
      logged.arrived(AccessKind::read_value);
    }
    turn.advance();
  }

  /// Copies the keys, or the values, of a tile: the boxes that begin before the last key.
  template <AccessKind kKind>
  __device__ void load_side(const Work& work, int first, const Ring& ring, std::uint32_t to,
                            ItemLog<Log>& logged) {
    constexpr bool kValue = kKind == AccessKind::read_value;
    const int left = min(kTileKeys, work.keys - first);
    const int boxes = (left + l.box_keys - 1) / l.box_keys;
    const int box_bytes = l.box_keys * kRowBytes;
    const std::uint32_t arrived = kOneByte ? ring.raw : ring.full;
    await_phase(ring.empty, turn.parity ^ 1);
    if constexpr (Log::kOn) logged.issue(kKind);
    if (lane() == 0) arrive_for_copies(arrived, boxes * box_bytes);
    __syncwarp();
    if (box >= boxes) return;
    if constexpr (S::kPaged) {
      // Rows of a large pool of short rows are more than an int can count.
      const auto row = static_cast<unsigned>(block) * static_cast<unsigned>(l.block_rows) +
                       static_cast<unsigned>(work.kv_head * l.head_rows + slot +
                                             (kValue ? l.value_rows : l.key_rows));
      const auto eight = static_cast<int>(row / 8);
      if constexpr (kOneByte)
        copy_box(to + S::kTileBytes / 2 + box * box_bytes, l.kv_map, 0, 0, eight, arrived);
      else
        copy_box(to + box * box_bytes, l.kv_map, eight, arrived);
    } else {
      const int panel_bytes = l.box_keys * kPanelRowBytes;
      const int head = l.a.shape.heads + work.kv_head + (kValue ? l.a.shape.kv_heads : 0);
      copy_box(to + panel * S::kTilePanel + box * panel_bytes, l.kv_map,
               head * kHeadDim + panel * kPanel,
               static_cast<int>(work.first_key_token) + first + box * l.box_keys, ring.full);
    }
  }
};

}  // namespace kernels::gpu::prefill_wgmma
