#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "workers/model/shape.hpp"

namespace model {

enum class Architecture : std::uint8_t {
  llama,  // RMSNorm, rotary positions, gated SiLU MLP; Mistral, Qwen2 (qkv_biases) and Qwen3
          // (qk_norms), too
  opt,    // LayerNorm, learned positions (offset 2), ReLU MLP, biases
};

/// Type of weights, activations and KV in memory; e4m3 is of KV alone. Arithmetic is float32.
enum class DType : std::uint8_t { f32, bf16, f16, e4m3 };
constexpr int size_of(DType type) { return type == DType::f32 ? 4 : type == DType::e4m3 ? 1 : 2; }
/// By their numbers, as a checkpoint's configuration names them.
inline constexpr std::array<std::string_view, 3> kDTypeNames = {"float32", "bfloat16", "float16"};
inline std::string to_text(DType type) {
  return std::string(kDTypeNames[static_cast<std::size_t>(type)]);
}
/// The type of one of these names.
constexpr DType dtype_named(std::string_view name) {
  return static_cast<DType>(std::ranges::find(kDTypeNames, name) - kDTypeNames.begin());
}

/// How rotary frequencies are scaled beyond the context that the model was trained on.
struct RopeScaling {
  enum class Kind : std::uint8_t { none, llama3, yarn };
  Kind kind = Kind::none;
  double factor = 1;
  int original_max_context = 0;  // tokens
  double low_freq_factor = 1;    // llama3
  double high_freq_factor = 4;   // llama3
  double beta_fast = 32;         // yarn
  double beta_slow = 1;          // yarn
  double attention_factor = 0;   // yarn; 0: 0.1 ln(factor) + 1
};

/// Everything that the forward pass depends on, except the weights.
struct ModelConfig {
  ModelShape shape;
  Architecture architecture = Architecture::llama;
  DType dtype = DType::bf16;
  double norm_eps = 1e-5;
  double rope_theta = 10000;
  RopeScaling rope_scaling;
};

/// Rotary frequencies: the angle of pair i at position p is p * inverse_frequency[i]; cos and sin
/// are multiplied by `scale`. Empty for learned positions. Pairs are (i, i + head_dim/2).
struct RopeTable {
  std::vector<float> inverse_frequency;  // [head_dim / 2]
  float scale = 1;
};
RopeTable rope_table(const ModelConfig& config);

/// Reads DIR/config.json of a Hugging Face checkpoint, written by transformers 4 or 5; shape.name
/// is the folder's name. Throws engine::InputError naming file and key: unknown architecture,
/// missing or impossible values, features that are not supported.
ModelConfig read_huggingface_config(const std::filesystem::path& dir);
/// Throws engine::InputError, naming file and key, when DIR/config.json describes another model:
/// tensors of the same shapes mean something else with other heads, norms or rotary positions. The
/// type may differ, since weights are converted, and so may the context, since a profile limits it.
void require_configuration(const std::filesystem::path& dir, const ModelConfig& expected);

}  // namespace model
