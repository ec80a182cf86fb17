#pragma once
#include "kernels/kv_layout.hpp"

/// Segments of a sequence's keys. Hopper's prefill attention sums each segment by itself and merges
/// the sums in order, so that several CTAs can share a long prefix. A segment's bounds depend on
/// positions alone, so a row's result depends neither on its prompt's chunks nor on which CTA sums
/// what.
namespace kernels::gpu::prefill {

constexpr int kKeyTile = 128;  // keys that are loaded and scored at a time

/// 1,024 keys up to key 16,384, then 8,192: short enough to cut what lies before a chunk evenly,
/// and at most 30 segments of 131,072 keys.
constexpr int kShortSegments = 16, kShortTiles = 8, kLongTiles = 64;

/// The first tile of keys of a segment.
KERNELS_HOST_DEVICE constexpr int segment_begin(int segment) {
  return segment < kShortSegments
             ? segment * kShortTiles
             : kShortSegments * kShortTiles + (segment - kShortSegments) * kLongTiles;
}
/// The segment of a tile of keys.
KERNELS_HOST_DEVICE constexpr int segment_of(int key_tile) {
  constexpr int kShort = kShortSegments * kShortTiles;
  return key_tile < kShort ? key_tile / kShortTiles
                           : kShortSegments + (key_tile - kShort) / kLongTiles;
}
/// Segments of this many keys, of which there is one at least.
KERNELS_HOST_DEVICE constexpr int segments_of(int keys) {
  return segment_of((keys - 1) / kKeyTile) + 1;
}

}  // namespace kernels::gpu::prefill
