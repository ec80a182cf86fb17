#pragma once
#include <cstdint>
#include <vector>

#include "kernels/kv_layout.hpp"
#include "kernels/number.hpp"
#include "kernels/reference/access_trace.hpp"

namespace kernels::reference {

/// Where one sequence's keys and values of one layer are.
template <class Kv>
struct SequenceKv {
  const Kv* arena = nullptr;  // blocks in `layout`; Kv is float, Bf16 or F16
  KvLayout layout;
  int layer = 0;
  const std::int32_t* blocks = nullptr;  // [ceil(context / block_size)] the sequence's block table
  int context = 0;                       // tokens with KV, those of the chunk included
};

/// The last `queries` tokens of a sequence of which everything before may be cached. A decode is a
/// chunk of one.
struct QueryChunk {
  const float* q = nullptr;  // [queries][stride], of which the first heads * head_dim of each row
  int stride = 0;
  int queries = 0;
  int heads = 0;  // a multiple of kv_heads; consecutive heads share keys and values
};

/// Buffers of paged_attention that keep their capacity from call to call.
struct AttentionScratch {
  std::vector<float> keys, values;  // [context][head_dim] of one head
  std::vector<float> scores;        // [context]
};

/// Causal softmax attention: out = softmax(q k^T / sqrt(head_dim)) v, where a token sees itself and
/// all before it (Vaswani et al. 2017; grouped heads: Ainslie et al. 2023).
///   out  [queries][heads * head_dim]
/// Float32 throughout. Keys are taken in order of position whatever block they lie in, and a query
/// meets the same operations in the same order in a chunk of any length: its result depends on
/// nothing but q and the KV of its own prefix.
template <class Kv>
void paged_attention(float* out, const QueryChunk& chunk, const SequenceKv<Kv>& kv,
                     AttentionScratch& scratch);
/// The same, and logs each block's keys and values when they are read.
template <class Kv>
void paged_attention(float* out, const QueryChunk& chunk, const SequenceKv<Kv>& kv,
                     AttentionScratch& scratch, const Traced& log);

}  // namespace kernels::reference
