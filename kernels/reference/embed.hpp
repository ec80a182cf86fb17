#pragma once
#include <cstdint>

namespace kernels::reference {

/// x[t] = table[tokens[t]].
///   x       [num_tokens][hidden]
///   table   [vocab][hidden]
///   tokens  [num_tokens], each less than vocab
void embed(float* x, const float* table, const std::int32_t* tokens, int num_tokens, int hidden);

/// x[t] += table[positions[t] + 2]: OPT keeps two rows ahead of position 0 (the padding index + 1;
/// OPTLearnedPositionalEmbedding of Hugging Face transformers).
///   x          [num_tokens][hidden]
///   table      [positions + 2][hidden]
///   positions  [num_tokens]
void add_learned_positions(float* x, const float* table, const std::int32_t* positions,
                           int num_tokens, int hidden);

}  // namespace kernels::reference
