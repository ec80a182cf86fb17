#pragma once
#include <type_traits>

#include "kernels/device/capability.hpp"

namespace kernels::gpu {

/// The sizes of tiles that a kernel is compiled for, in ascending order.
template <int... kSizes>
struct TileSizes {
  /// The smallest with which n outputs are at most one CTA per multiprocessor, or else the largest.
  static int of(int n) { return one_wave_tile({kSizes...}, n); }
  /// Calls launch(size) with of(n) as a constant.
  template <class Launch>
  static void with(int n, const Launch& launch) {
    const int size = of(n);
    ((size == kSizes ? launch(std::integral_constant<int, kSizes>{}) : void()), ...);
  }
};

/// Outputs of a CTA of a gated product of at most 128 rows.
using GatedTiles = TileSizes<64, 80, 96, 112, 144>;

/// Rows of a gated product that one tile may have instead of two of 128.
constexpr int kOneTileRows = 192;

/// Whether a gated product, whose outputs are `tiles` tiles, has all its rows in each of them: that
/// is one wave of CTAs, where two tiles of 128 rows are two.
constexpr bool prefers_one_row_tile(int rows, int tiles, int ctas) {
  return rows <= kOneTileRows && tiles <= ctas && 2 * tiles > ctas;
}

}  // namespace kernels::gpu
