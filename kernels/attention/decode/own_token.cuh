#pragma once
#include "kernels/attention/decode/heads.cuh"

namespace kernels::gpu::decode {

/// The key and value of the query token itself, if append_kv() has not stored them. Of all warps of
/// a row and key head, the one whose last tile has the token stores them in the token's block and
/// in the tile in shared memory; copies leave them out. Each of the first kHeadDim / 4 lanes has
/// two dimensions, and those half a head from them.
template <class T, class Kv, int kHeadDim, Remaining kRemaining>
struct OwnToken {
  static constexpr int kLanes = kHeadDim / 4, kHalf = kHeadDim / 2;

  bool here = false;  // this lane has some of it
  int row = 0;        // of the warp's last tile
  uint2 key, value, key_bias, value_bias, key_weights;
  float4 cos_sin;

  /// Issues the loads; append() uses them.
  __device__ OwnToken(const Arguments& a, const Work& work) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tiles = work.tiles(warp);
    if (kRemaining == Remaining::nothing || !work.appends(a) || tiles == 0) return;
    row = work.end - 1 - work.tile_begin(warp, tiles - 1);
    here = row < kTileKeys && lane < kLanes;
    if (!here) return;
    const int key_at = (a.shape.heads + work.kv_head) * kHeadDim + 2 * lane,
              value_at = key_at + a.shape.kv_heads * kHeadDim;
    const T* from =
        static_cast<const T*>(a.qkv) + std::int64_t{work.query_token} * a.shape.qkv_width();
    key = load_four(from + key_at, kHalf);
    value = load_four(from + value_at, kHalf);
    cos_sin = *reinterpret_cast<const float4*>(
        a.rotations + std::int64_t{work.query_token} * kHeadDim + 4 * lane);
    if (kRemaining != Remaining::everything) return;
    const T* const bias = static_cast<const T*>(a.bias);
    if (bias) {
      key_bias = load_four(bias + key_at, kHalf);
      value_bias = load_four(bias + value_at, kHalf);
    }
    if (a.key_norm) key_weights = load_four(static_cast<const T*>(a.key_norm) + 2 * lane, kHalf);
  }

  /// Called by all lanes of a warp when its last tile has arrived. `to`: the token's key in its
  /// block, if this warp has the token.
  __device__ void append(const Arguments& a, std::uint32_t key_tile, std::uint32_t value_tile,
                         Kv* to) const {
    if (!here) return;
    const int first = 2 * (threadIdx.x % 32);
    store(key_tile, first, to + first, rotated_key(a));
    store(value_tile, first, to + first + a.places.value_distance, biased_value(a));
  }

 private:
  __device__ FourDimensions<T> rotated_key(const Arguments& a) const {
    FourDimensions<T> four(key);
    if constexpr (kRemaining == Remaining::everything) {
      if (a.bias) four.add(key_bias);
      if (a.key_norm)
        four.normalize(key_weights,
                       head_scale(sum_over_lanes<kHeadDim>(four.squares()), kHeadDim, a.norm_eps));
    }
    four.rotate(cos_sin);
    return four;
  }
  __device__ FourDimensions<T> biased_value(const Arguments& a) const {
    FourDimensions<T> four(value);
    if (kRemaining == Remaining::everything && a.bias) four.add(value_bias);
    return four;
  }
  /// Stores dimensions from `first` on, and those half a head from them, in the tile and at `to`.
  __device__ void store(std::uint32_t tile, int first, Kv* to,
                        const FourDimensions<T>& four) const {
    put(tile, first, to, pack_kv<Kv>(four.low.x, four.low.y));
    put(tile, first + kHalf, to + kHalf, pack_kv<Kv>(four.high.x, four.high.y));
  }
  __device__ void put(std::uint32_t tile, int dimension, Kv* to, PairOf<Kv> two) const {
    const int byte = static_cast<int>(sizeof(Kv)) * dimension;
    const std::uint32_t at =
        tile + swizzled<Tile<Kv, kHeadDim>::kRowBytes>(row, byte / 16) + byte % 16;
    if constexpr (sizeof(Kv) == 1)
      asm volatile("st.shared.u16 [%0], %1;\n" ::"r"(at), "h"(two) : "memory");
    else
      asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(at), "r"(two) : "memory");
    *reinterpret_cast<PairOf<Kv>*>(to) = two;
  }
};

}  // namespace kernels::gpu::decode
