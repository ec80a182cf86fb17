#include "kernels/reference/kv_blocks.hpp"

#include <cmath>
#include <cstring>

#include "tests/kernels/values.hpp"

using namespace kernels;
using namespace kernel_test;

namespace {

/// Appends `lengths[s]` tokens of each sequence from position `starts[s]` on to an arena of NaN,
/// then checks for every scalar whether it has the expected value.
template <class Kv>
void check_append(int block_size, const Ints& starts, const Ints& lengths) {
  const KvLayout layout{.layers = 2, .kv_heads = 2, .block_size = block_size, .head_dim = 3};
  const int layer = 1, stride = 11, table_stride = 9;
  const auto sequences = static_cast<int>(starts.size());
  Values values(static_cast<std::uint64_t>(block_size));
  const Ints tables = values.shuffled(sequences * table_stride);
  Ints positions, sequence;
  for (int s = 0; s < sequences; ++s) {
    for (int i = 0; i < lengths[size(s)]; ++i) {
      positions.push_back(starts[size(s)] + i);
      sequence.push_back(s);
    }
  }
  const auto tokens = static_cast<int>(positions.size());
  const Floats keys = values.many(tokens * stride), vals = values.many(tokens * stride);
  std::vector<Kv> arena(size((sequences * table_stride + 1) * layout.block_elements()),
                        from_float<Kv>(-7));
  reference::append_kv(arena.data(), layout, layer, keys.data(), vals.data(), stride,
                       {tokens, positions.data(), sequence.data(), tables.data(), table_stride});
  std::vector<Kv> expected(arena.size(), from_float<Kv>(-7));
  for (int t = 0; t < tokens; ++t) {
    const int p = positions[size(t)];
    const int block = tables[size(sequence[size(t)] * table_stride + p / block_size)];
    for (int h = 0; h < 2; ++h) {
      for (int d = 0; d < 3; ++d) {
        // [block][layer][K, V][kv_head][slot][head_dim], written out.
        const auto place = [&](int side) {
          return size(
              ((((block * 2 + layer) * 2 + side) * 2 + h) * block_size + p % block_size) * 3 + d);
        };
        expected[place(0)] = from_float<Kv>(keys[size(t * stride + h * 3 + d)]);
        expected[place(1)] = from_float<Kv>(vals[size(t * stride + h * 3 + d)]);
      }
    }
  }
  CHECK(std::memcmp(arena.data(), expected.data(), arena.size() * sizeof(Kv)) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("every token's keys and values go to its own slot and nowhere else", "[kernels]",
                   float, Bf16, F16, E4m3) {
  for (const int block_size : {1, 2, 7, 16}) {
    check_append<TestType>(block_size, {}, {});
    check_append<TestType>(block_size, {0}, {1});
    check_append<TestType>(block_size, {0, 5, block_size - 1, block_size},
                           {block_size, 3, 2, block_size + 1});
    if (block_size > 1) check_append<TestType>(block_size, {0, 3}, {block_size - 1, 0});
  }
}

TEST_CASE("a copied block equals its source and its neighbors stay", "[kernels]") {
  const Ints from{1, 2, 3};
  Ints to{9, 9, 9, 9, 9};
  reference::copy_block(to.data() + 1, from.data(), 12);
  CHECK(to == Ints{9, 1, 2, 3, 9});
}

TEMPLATE_TEST_CASE("a poisoned block is NaN in every format", "[kernels]", float, Bf16, F16, E4m3) {
  std::vector<TestType> block(10, from_float<TestType>(1));
  reference::poison_block(block.data(), 9 * sizeof(TestType));
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::isnan(to_float(block[i])));
  CHECK(to_float(block[9]) == 1);
}

TEST_CASE("a checksum sees every flipped bit and every exchange of words", "[kernels]") {
  Values values(1);
  Ints block;
  for (int i = 0; i < 40; ++i) block.push_back(values.below(1 << 30));
  const auto sum = [&] {
    return reference::checksum_block(block.data(), static_cast<std::int64_t>(block.size()) * 4);
  };
  const std::uint64_t before = sum();
  int unseen = 0;
  for (std::int32_t& word : block) {
    for (int bit = 0; bit < 31; ++bit) {
      word ^= 1 << bit;
      unseen += sum() == before;
      word ^= 1 << bit;
    }
  }
  for (std::size_t i = 1; i < block.size(); ++i) {
    std::swap(block[i - 1], block[i]);
    unseen += sum() == before;
    std::swap(block[i - 1], block[i]);
  }
  CHECK(unseen == 0);
  CHECK(sum() == before);
}
