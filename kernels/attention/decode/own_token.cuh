#pragma once
#include "kernels/attention/decode/heads.cuh"

namespace kernels::gpu::decode {

/// The key and value of the query token itself, if append_kv() has not stored them. Of all warps of
/// a row and key head, the one whose last tile has the token stores them in the token's block and
/// in the tile in shared memory; copies leave them out. Each of the first kHeadDim / 4 lanes
/// has two dimensions, and those half a head from them.
template <class T, int kHeadDim>
struct OwnToken {
  using S = Shared<kHeadDim>;
  static constexpr int kLanes = kHeadDim / 4, kHalf = kHeadDim / 2;

  bool here = false;  // this lane has some of it
  int row;            // of the warp's last tile
  std::uint32_t key[2], value[2];
  T* to;  // in its block

  __device__ OwnToken(const Arguments& a, const Work& work) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tiles = work.tiles(warp);
    if (!work.appends(a) || tiles == 0) return;
    row = work.end - 1 - work.tile_begin(warp, tiles - 1);
    here = row < kTileKeys && lane < kLanes;
    if (!here) return;
    const int first = 2 * lane;
    const int key_at = (a.shape.heads + work.kv_head) * kHeadDim + first,
              value_at = key_at + a.shape.kv_heads * kHeadDim;
    const T* from =
        static_cast<const T*>(a.qkv) + std::int64_t{work.query_token} * a.shape.qkv_width();
    const T* bias = static_cast<const T*>(a.bias);
    load(key, from + key_at);
    load(value, from + value_at);
    to = static_cast<T*>(a.arena) + a.places.head_start(work.kv_head) +
         a.places.find(work.table, work.end - 1).element + first;
    const T* const key_bias = bias ? bias + key_at : nullptr;
    HeadNorm<T> norm;
    if (a.key_norm) {
      const FourDimensions<T, kHeadDim> mine(key[0], key[1], key_bias);
      norm = {static_cast<const T*>(a.key_norm) + first,
              head_scale(sum_over_lanes<kHeadDim>(mine.squares()), kHeadDim, a.norm_eps)};
    }
    rotate_two<T, kHeadDim>(
        key[0], key[1], key_bias, norm,
        *reinterpret_cast<const float4*>(a.rotations + std::int64_t{work.query_token} * kHeadDim +
                                         2 * first));
    if (!bias) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float2 two = unpack<T>(value[half]);
      add_bias(two, bias + value_at + half * kHalf);
      value[half] = pack<T>(two.x, two.y);
    }
  }

  /// Called by the lanes of a warp when its last tile has arrived.
  __device__ void append(const Arguments& a, std::uint32_t key_tile,
                         std::uint32_t value_tile) const {
    if (!here) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int byte = 4 * (threadIdx.x % 32) + half * 2 * kHalf;
      const std::uint32_t at = swizzled<S::kRowBytes>(row, byte / 16) + byte % 16;
      put(key_tile + at, key[half]);
      put(value_tile + at, value[half]);
      *reinterpret_cast<std::uint32_t*>(to + half * kHalf) = key[half];
      *reinterpret_cast<std::uint32_t*>(to + a.places.value_distance + half * kHalf) = value[half];
    }
  }

 private:
  __device__ static void load(std::uint32_t (&two)[2], const T* from) {
    two[0] = *reinterpret_cast<const std::uint32_t*>(from);
    two[1] = *reinterpret_cast<const std::uint32_t*>(from + kHalf);
  }
  __device__ static void put(std::uint32_t address, std::uint32_t two) {
    asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(address), "r"(two) : "memory");
  }
};

}  // namespace kernels::gpu::decode
