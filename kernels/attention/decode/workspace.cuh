#pragma once
#include <type_traits>

#include "kernels/attention/attention.hpp"

namespace kernels::gpu {

constexpr int kDecodeCtas = 2;  // on a multiprocessor at once
constexpr int kQuarters = 4;    // of a split
constexpr int kWhole = -1;      // DecodeUnit::quarter of a unit that has all of them
/// Most splits of a row that may be cut into quarters: there is room for their sums.
constexpr int kMostQuartered = kDecodeMaxSplits / kQuarters;

/// A split of one row's context or a quarter of one, with everything needed to find its keys: one
/// load instead of a chain of loads.
struct alignas(32) DecodeUnit {
  std::int32_t row;
  std::int32_t sequence;
  std::int32_t query_token;
  std::int32_t split;
  std::int32_t splits;
  std::int32_t begin, end;  // keys of the split
  std::int32_t quarter;     // or kWhole
};

/// Memory that the splits of a decode step share, in one allocation on the device.
struct DecodeWorkspace {
  unsigned* arrived = nullptr;  // [rows][kv_heads] units done; 0 between launches
  unsigned* taken = nullptr;    // units taken beyond every CTA's first two; 0 between launches
  unsigned* left = nullptr;     // CTAs that have ended; 0 between launches
  std::int32_t* unit_count = nullptr;  // [1]
  DecodeUnit* units = nullptr;         // [unit_count], at most rows * kDecodeMaxSplits
  float2* tops = nullptr;  // [rows][kv_heads][kDecodeMaxSplits][group]: largest score in powers
                           // of 2, and sum of weights relative to it. A row that is cut into
                           // quarters has theirs here instead: [split][quarter]
  float* sums = nullptr;   // [rows][kv_heads][kDecodeMaxSplits][group][head_dim]
  std::size_t bytes = 0;

  static DecodeWorkspace lay_out(void* start, int rows, const HeadShape& shape) {
    DecodeWorkspace w;
    const auto n = static_cast<std::size_t>(rows);
    const auto splits = n * static_cast<std::size_t>(shape.heads) * kDecodeMaxSplits;
    const auto take = [&](auto*& pointer, std::size_t count) {
      using Element = std::remove_reference_t<decltype(*pointer)>;
      pointer = reinterpret_cast<Element*>(static_cast<char*>(start) + w.bytes);
      w.bytes = (w.bytes + count * sizeof(Element) + 255) / 256 * 256;
    };
    take(w.arrived, n * static_cast<std::size_t>(shape.kv_heads));
    take(w.taken, 1);
    take(w.left, 1);
    take(w.unit_count, 1);
    take(w.units, n * kDecodeMaxSplits);
    take(w.tops, splits);
    take(w.sums, splits * static_cast<std::size_t>(shape.head_dim));
    return w;
  }
};

}  // namespace kernels::gpu
