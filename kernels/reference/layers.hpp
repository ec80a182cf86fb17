#pragma once
// The plain C++ twins of kernels/layers.
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

/// out = x / sqrt(mean(x^2) + eps) * weight, row by row (Zhang and Sennrich 2019).
///   out, x  [rows][cols]; may alias
///   weight  [cols]
/// The mean is summed in float64, from the first element to the last.
void rms_norm(float* out, const float* x, const float* weight, int rows, int cols, float eps);

/// out = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias, row by row (Ba et al. 2016), with
/// the variance of the row itself instead of an estimate from it.
///   out, x        [rows][cols]; may alias
///   weight, bias  [cols]
void layer_norm(float* out, const float* x, const float* weight, const float* bias, int rows,
                int cols, float eps);

/// out = x * weight^T in float32. Every element is one dot(), so a row's result depends on that row
/// alone.
///   out     [rows][outputs]
///   x       [rows][inputs]
///   weight  [outputs][inputs]
void linear(float* out, const float* x, const float* weight, int rows, int outputs, int inputs);

/// x[r] += bias.
///   x     [rows][cols]
///   bias  [cols]
void add_bias(float* x, const float* bias, int rows, int cols);

/// x += y, the residual connection.
///   x, y  [count]
void add(float* x, const float* y, std::int64_t count);

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

/// out = silu(gate) * up with silu(x) = x / (1 + exp(-x)) (Shazeer 2020).
///   out      [rows][width]
///   gate_up  [rows][2 width]: gate, then up
void swiglu(float* out, const float* gate_up, int rows, int width);

/// x = max(x, 0); NaN stays NaN.
///   x  [count]
void relu(float* x, std::int64_t count);

/// Index of the largest element, the lowest of several. Elements must be finite.
///   x  [count], count > 0
std::int32_t argmax(const float* x, int count);

}  // namespace kernels::reference
