#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workers/model/config.hpp"

namespace model {

/// One matrix, vector or table as the backends hold it: row-major [rows][cols], vectors with one
/// row. Checkpoint tensors that are multiplied with the same input are stacked along the rows.
struct Parameter {
  enum class Kind : std::uint8_t { matrix, table, norm_weight, bias };
  /// A checkpoint tensor.
  struct Part {
    std::string tensor;  // without the prefix ("model.", "model.decoder.")
    std::int64_t rows;   // of a vector: elements
  };
  std::string name;  // e.g. "layers.3.qkv.weight"
  Kind kind = Kind::matrix;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t offset = 0;  // bytes from the start of the weights, a multiple of 256
  std::vector<Part> parts;  // stacked in this order
  bool is_vector() const { return kind == Kind::norm_weight || kind == Kind::bias; }
  std::int64_t elements() const { return rows * cols; }
};

/// Indices of a layer's parameters in WeightLayout::parameters; -1 for those that the architecture
/// lacks.
struct LayerParameters {
  int attention_norm_weight = -1, attention_norm_bias = -1;  // [hidden]
  int qkv_weight = -1, qkv_bias = -1;          // [(heads + 2 kv_heads) * head_dim][hidden]: Q, K, V
  int q_norm_weight = -1, k_norm_weight = -1;  // [head_dim], the same for all heads
  int out_weight = -1, out_bias = -1;          // [hidden][heads * head_dim]
  int mlp_norm_weight = -1, mlp_norm_bias = -1;  // [hidden]
  int up_weight = -1, up_bias = -1;              // gated: [2 intermediate][hidden], gate rows first
  int down_weight = -1, down_bias = -1;          // [hidden][intermediate]
};

/// All parameters of a model in one allocation, so that a single operation reads, copies or
/// broadcasts them.
struct WeightLayout {
  std::vector<Parameter> parameters;  // in order of offset
  int embedding = -1;                 // [vocab][hidden]
  int positions = -1;                 // [learned_positions][hidden]; row = position + 2
  std::vector<LayerParameters> layers;
  int final_norm_weight = -1, final_norm_bias = -1;
  int head = -1;           // [vocab][hidden]; the embedding itself when tied
  std::int64_t bytes = 0;  // of the allocation, in the given type
};
WeightLayout weight_layout(const ModelConfig& config, DType stored_as);

/// Source of parameters. Thread-safe: read() may be called from several threads at once.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// "random, seed 1" or the checkpoint's folder.
  virtual std::string describe() const = 0;
  /// Identifies the values: part of a cell's key. Never a path.
  virtual std::string digest() const = 0;
  /// Writes parameter.elements() values, converted to `type` (round to nearest even).
  virtual void read(const Parameter& parameter, DType type, std::span<std::byte> out) const = 0;
};

/// A Hugging Face folder: model.safetensors, or shards with model.safetensors.index.json, memory
/// mapped. All tensors that the model needs are checked here. Throws engine::InputError naming
/// file, tensor, what was found and what was expected.
std::unique_ptr<WeightSource> open_checkpoint(const std::filesystem::path& dir,
                                              const ModelConfig& config);

/// Seeded values that need no file. Norm weights are 1. Every other element, including biases, is
/// kernels::random_weight() of the seed, the parameter's index in WeightLayout::parameters, the
/// position in the parameter and random_amplitude(), rounded to the requested type. A GPU can
/// therefore generate the same values itself.
std::unique_ptr<WeightSource> random_weights(const ModelConfig& config, std::uint64_t seed);

/// Amplitude of a parameter's random values. Outputs of linear layers keep the magnitude of their
/// inputs, and logits spread widely enough for a clear maximum. 0 for norm weights, which are 1.
float random_amplitude(const Parameter& parameter, const ModelConfig& config);

/// Part of the digest of random weights: incremented when the same seed gives other values.
constexpr int kRandomWeightsVersion = 1;

/// Reads all parameters in `layout` order into one buffer of layout.bytes, on `threads` threads.
/// The gaps between parameters are not written. Rethrows the first error of a read.
void read_all(const WeightSource& source, const WeightLayout& layout, DType type,
              std::span<std::byte> out, int threads);

}  // namespace model
