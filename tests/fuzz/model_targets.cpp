#include "tests/fuzz/targets.hpp"
#include "tests/model/checkpoint_folder.hpp"
#include "tests/support/json_pieces.hpp"
#include "workers/engine/base/errors.hpp"

namespace fuzz {
namespace {

const support::TempDir& folder() {
  static const support::TempDir kFolder;
  return kFolder;
}

const model::ModelConfig& config() {
  static const model::ModelConfig kConfig = [] {
    model::ModelConfig config = support::small_config("yarn-llama-2");
    config.shape.layers = 1;
    return config;
  }();
  return kConfig;
}

bool safetensors(std::string_view bytes) {
  static const InputFile kFile((folder().path() / "model.safetensors").string());
  kFile.holding(bytes);
  return accepted<engine::InputError>(folder().path().string(), [&] {
    const auto checkpoint = model::open_checkpoint(folder().path(), config());
    support::all_values(*checkpoint, config());
    checkpoint->digest();
  });
}

bool hugging_face(std::string_view bytes) {
  static const InputFile kFile((folder().path() / "config.json").string());
  kFile.holding(bytes);
  return accepted<engine::InputError>("config.json",
                                      [] { model::read_huggingface_config(folder().path()); });
}

}  // namespace

Target safetensors_target() {
  return {"safetensors", safetensors,
          [] {
            const auto tensors = support::tensors_of(*model::random_weights(config(), 1), config(),
                                                     model::DType::f16, "model.");
            return std::vector<std::string>{support::safetensors_file(tensors)};
          },
          support::kJsonPieces};
}

Target config_target() {
  return {"config", hugging_face,
          [] {
            return std::vector<std::string>{
                R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2,
"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
"max_position_embeddings": 256, "intermediate_size": 96, "rms_norm_eps": 1e-5, "head_dim": 16,
"torch_dtype": "bfloat16", "rope_theta": 10000.0, "rope_scaling": {"rope_type": "yarn",
"factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 32, "beta_slow": 1}})",
                R"({"architectures": ["OPTForCausalLM"], "num_hidden_layers": 2,
"hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 256,
"ffn_dim": 96, "torch_dtype": "float16", "activation_function": "relu"})"};
          },
          support::kJsonPieces};
}

}  // namespace fuzz
