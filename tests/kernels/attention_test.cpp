#include "kernels/reference/attention.hpp"

#include <cmath>
#include <cstring>

#include "kernels/reference/kv_blocks.hpp"
#include "tests/kernels/values.hpp"

using namespace kernels;
using namespace kernel_test;

namespace {

/// One sequence with random queries, keys and values; keys and values are rounded to the storage
/// type.
template <class Kv>
struct Sequence {
  int heads, kv_heads, head_dim, context;
  Floats q, keys, values;  // [context][heads or kv_heads][head_dim]

  Sequence(int heads_, int kv_heads_, int head_dim_, int context_, std::uint64_t seed = 1)
      : heads(heads_), kv_heads(kv_heads_), head_dim(head_dim_), context(context_) {
    Values random(seed);
    q = random.many(context * heads * head_dim);
    keys = random.many(context * kv_heads * head_dim);
    values = random.many(context * kv_heads * head_dim);
    for (Floats* side : {&keys, &values})
      for (float& x : *side) x = to_float(from_float<Kv>(x));
  }

  float key(int token, int head, int d) const {
    return keys[size((token * kv_heads + head) * head_dim + d)];
  }
  float value(int token, int head, int d) const {
    return values[size((token * kv_heads + head) * head_dim + d)];
  }

  /// Attention of the last `queries` tokens over blocks of `block_size` in a shuffled pool, with
  /// NaN in all other slots.
  Floats attention(int queries, int block_size) const {
    const KvLayout layout{
        .layers = 3, .kv_heads = kv_heads, .block_size = block_size, .head_dim = head_dim};
    const int blocks = (context + block_size - 1) / block_size + 2;
    const Ints table = Values(7).shuffled(blocks);
    std::vector<Kv> arena(size((blocks + 1) * layout.block_elements()),
                          from_float<Kv>(std::nanf("")));
    Ints positions, sequence(size(context), 0);
    for (int p = 0; p < context; ++p) positions.push_back(p);
    reference::append_kv(arena.data(), layout, 1, keys.data(), values.data(), kv_heads * head_dim,
                         {context, positions.data(), sequence.data(), table.data(), blocks});
    Floats out(size(queries * heads * head_dim));
    reference::AttentionScratch scratch;
    const int stride = heads * head_dim;
    reference::paged_attention<Kv>(out.data(),
                                   {.q = q.data() + (context - queries) * stride,
                                    .stride = stride,
                                    .queries = queries,
                                    .heads = heads},
                                   {.arena = arena.data(),
                                    .layout = layout,
                                    .layer = 1,
                                    .blocks = table.data(),
                                    .context = context},
                                   scratch);
    return out;
  }

  /// The same in double, directly from the definition.
  Doubles expected(int queries) const {
    Doubles out;
    for (int i = context - queries; i < context; ++i) {
      for (int h = 0; h < heads; ++h) {
        Doubles weight;
        double total = 0;
        for (int j = 0; j <= i; ++j) {
          double score = 0;
          for (int d = 0; d < head_dim; ++d)
            score +=
                double(q[size((i * heads + h) * head_dim + d)]) * key(j, h / (heads / kv_heads), d);
          weight.push_back(std::exp(score / std::sqrt(double(head_dim))));
          total += weight.back();
        }
        for (int d = 0; d < head_dim; ++d) {
          double sum = 0;
          for (int j = 0; j <= i; ++j) sum += weight[size(j)] * value(j, h / (heads / kv_heads), d);
          out.push_back(sum / total);
        }
      }
    }
    return out;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("attention is the causal softmax average over a paged prefix", "[kernels]",
                   float, Bf16, F16, E4m3) {
  const int block = 16;
  for (const int context : {1, block - 1, block, block + 1, 5 * block}) {
    for (const int queries : {0, 1, std::min(context, block - 1), context}) {
      const Sequence<TestType> grouped(6, 2, 8, context), single(2, 2, 5, context);
      check_close(grouped.attention(queries, block), grouped.expected(queries));
      check_close(single.attention(queries, block), single.expected(queries));
    }
  }
}

TEMPLATE_TEST_CASE(
    "a query's result has the same bits in chunks of any length and blocks of any size",
    "[kernels]", float, Bf16, F16, E4m3) {
  const int context = 67;
  const Sequence<TestType> sequence(4, 2, 16, context);
  const Floats whole = sequence.attention(context, 16);
  for (const int block_size : {1, 3, 8, 16, 64, 128}) {
    for (const int queries : {1, 2, 16, 66, 67}) {
      const Floats part = sequence.attention(queries, block_size);
      CHECK(std::memcmp(part.data(), whole.data() + (whole.size() - part.size()),
                        part.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("scores of any size give finite weights", "[kernels]") {
  Sequence<float> sequence(1, 1, 8, 20);
  for (float& x : sequence.q) x *= 1e4f;
  for (const float x : sequence.attention(20, 16)) REQUIRE(std::isfinite(x));
}
