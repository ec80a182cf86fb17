#pragma once
#include <cstdint>

namespace kernels::reference {

/// Cosines and sines of the rotary angles positions[t] * inverse_frequency[i], multiplied by
/// `scale`.
///   cosines, sines     [num_tokens][pairs]
///   positions          [num_tokens]
///   inverse_frequency  [pairs]
void rope_angles(float* cosines, float* sines, const std::int32_t* positions, int num_tokens,
                 const float* inverse_frequency, int pairs, float scale);

/// Rotates the pairs (i, i + head_dim/2) of every head in place (Su et al. 2021, with the pairing
/// of Llama checkpoints in Hugging Face's form).
///   x               [num_tokens][stride]; the first heads * head_dim of each row are rotated:
///                   queries, and keys when they follow the queries
///   cosines, sines  [num_tokens][head_dim / 2]
void rope(float* x, const float* cosines, const float* sines, int num_tokens, int stride, int heads,
          int head_dim);

}  // namespace kernels::reference
