#include "workers/model/same_model.hpp"

#include <string>
#include <utility>
#include <vector>

#include "sweeps/files/text.hpp"
#include "workers/engine/base/errors.hpp"

namespace model {
namespace {

using Fields = std::vector<std::pair<const char*, double>>;

/// The fields, by the keys of a model's profile.
Fields fields_of(const ModelConfig& config) {
  const ModelShape& shape = config.shape;
  return {{"layers", shape.layers},         {"hidden", shape.hidden},
          {"heads", shape.heads},           {"kv_heads", shape.kv_heads},
          {"head_dim", shape.head_dim},     {"intermediate", shape.intermediate},
          {"vocab", shape.vocab},           {"tied_embeddings", shape.tied_embeddings},
          {"qkv_biases", shape.qkv_biases}, {"qk_norms", shape.qk_norms},
          {"norm_eps", config.norm_eps}};
}

std::string text_of(double value) { return sweep::formatted("%.10g", value); }

bool same_positions(const ModelConfig& a, const ModelConfig& b) {
  const RopeTable of_a = rope_table(a), of_b = rope_table(b);
  return of_a.inverse_frequency == of_b.inverse_frequency && of_a.scale == of_b.scale;
}

}  // namespace

void require_configuration(const std::filesystem::path& dir, const ModelConfig& expected) {
  const ModelConfig found = read_huggingface_config(dir);
  const std::string file = (dir / "config.json").string() + ": ";
  const std::string wanted = " of the model " + expected.shape.name;
  if (found.architecture != expected.architecture)
    throw engine::InputError(file + "its architecture is not that" + wanted);
  const Fields of_found = fields_of(found), of_expected = fields_of(expected);
  for (std::size_t i = 0; i < of_found.size(); ++i) {
    const auto& [key, value] = of_expected[i];
    if (of_found[i].second != value)
      throw engine::InputError(file + key + ": found " + text_of(of_found[i].second) +
                               ", expected the " + text_of(value) + wanted);
  }
  if (!same_positions(found, expected))
    throw engine::InputError(file + "rope theta and scaling: found others than those" + wanted);
}

}  // namespace model
