#pragma once
#include <cstdint>
#include <vector>

#include "kernels/kv_layout.hpp"
#include "kernels/number.hpp"
#include "kernels/reference/access_trace.hpp"

namespace kernels::reference {

/// Keys and values of one sequence and one layer.
template <class Kv>
struct SequenceKv {
  const Kv* arena = nullptr;  // blocks in `layout`; Kv is float, Bf16, F16 or E4m3
  KvLayout layout;
  int layer = 0;
  const std::int32_t* blocks = nullptr;  // [ceil(context / block_size)] the sequence's block table
  int context = 0;                       // tokens with KV, including those of the chunk
};

/// The last `queries` tokens of a sequence; all tokens before them may be cached. A decode is a
/// chunk of one.
struct QueryChunk {
  const float* q = nullptr;  // [queries][stride]; the first heads * head_dim of each row are used
  int stride = 0;
  int queries = 0;
  int heads = 0;  // a multiple of kv_heads; consecutive heads share keys and values
};

/// Buffers of paged_attention, which keep their capacity between calls.
struct AttentionScratch {
  std::vector<float> keys, values;  // [context][head_dim] of one head
  std::vector<float> scores;        // [context]
};

/// Causal softmax attention: out = softmax(q k^T / sqrt(head_dim)) v, where a token attends to
/// itself and all earlier tokens (Vaswani et al. 2017; grouped heads: Ainslie et al. 2023).
///   out  [queries][heads * head_dim]
/// Float32 throughout. Keys are processed in order of position, whatever block they are in, and the
/// operations of a query and their order do not depend on its chunk: its result depends on q and
/// the KV of its own prefix alone. With a Traced, logs the reads of each block's keys and values.
template <class Kv, class Log = NoTrace>
void paged_attention(float* out, const QueryChunk& chunk, const SequenceKv<Kv>& kv,
                     AttentionScratch& scratch, const Log& log = {});

}  // namespace kernels::reference
