#pragma once
// Checkpoints made from random weights: the same values in files of any shape.
#include <algorithm>
#include <map>

#include "tests/model/reference.hpp"
#include "tests/model/safetensors_file.hpp"
#include "tests/support/shared.hpp"
#include "workers/model/convert.hpp"

namespace support {

inline const char* dtype_name(model::DType type) {
  return type == model::DType::f32 ? "F32" : type == model::DType::bf16 ? "BF16" : "F16";
}

/// A small configuration of the same kind as the fixture of this name.
inline model::ModelConfig small_config(const std::string& name) {
  model::ModelConfig config = model::read_huggingface_config(model_fixtures::kFolder / name);
  config.shape.vocab = 24;
  config.shape.hidden = 16;
  config.shape.head_dim = 8;
  config.shape.intermediate = 12;
  if (config.shape.learned_positions > 0) config.shape.learned_positions = 10;
  return config;
}

/// The tensors of all parameters, as a checkpoint names them.
inline std::vector<NamedTensor> tensors_of(const model::WeightSource& source,
                                           const model::ModelConfig& config, model::DType type,
                                           const std::string& prefix) {
  std::vector<NamedTensor> tensors;
  for (const model::Parameter& parameter : model::weight_layout(config, type).parameters) {
    std::string bytes(static_cast<std::size_t>(parameter.elements() * model::size_of(type)), '\0');
    source.read(parameter, type, std::as_writable_bytes(std::span(bytes)));
    const bool vector = parameter.kind == model::Parameter::Kind::norm_weight ||
                        parameter.kind == model::Parameter::Kind::bias;
    std::size_t at = 0;
    for (const auto& [tensor, rows] : parameter.parts) {
      std::vector<std::int64_t> shape{rows};
      if (!vector) shape.push_back(parameter.cols);
      const std::int64_t elements = shape[0] * (vector ? 1 : parameter.cols);
      const auto size = static_cast<std::size_t>(elements * model::size_of(type));
      const bool head = tensor == "lm_head.weight";
      tensors.push_back(
          {(head ? "" : prefix) + tensor, dtype_name(type), shape, bytes.substr(at, size)});
      at += size;
    }
  }
  return tensors;
}

/// All weights of a source, in float32, by parameter.
inline std::map<std::string, std::vector<float>> all_values(const model::WeightSource& source,
                                                            const model::ModelConfig& config) {
  std::map<std::string, std::vector<float>> values;
  for (const model::Parameter& p : model::weight_layout(config, model::DType::f32).parameters) {
    std::vector<float>& floats = values[p.name];
    floats.resize(static_cast<std::size_t>(p.elements()));
    source.read(p, model::DType::f32, std::as_writable_bytes(std::span(floats)));
  }
  return values;
}

/// Writes the tensors as shards of `each` tensors and the index of them.
inline void write_shards(const TempDir& dir, const std::vector<NamedTensor>& tensors,
                         std::size_t each) {
  nlohmann::json map = nlohmann::json::object();
  for (std::size_t begin = 0; begin < tensors.size(); begin += each) {
    const auto first = tensors.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::vector<NamedTensor> shard(
        first, first + static_cast<std::ptrdiff_t>(std::min(each, tensors.size() - begin)));
    const std::string name = "shard-" + std::to_string(begin / each) + ".safetensors";
    dir.write(name, safetensors_file(shard));
    for (const NamedTensor& tensor : shard) map[tensor.name] = name;
  }
  dir.write("model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
}

}  // namespace support
