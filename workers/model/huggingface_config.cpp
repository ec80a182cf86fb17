// Keys and defaults: LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config and OPTConfig of Hugging
// Face transformers. Version 4 writes rope_theta and rope_scaling, version 5 both into
// rope_parameters; 4 writes torch_dtype, 5 dtype.
#include <string>
#include <utility>
#include <vector>

#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/model/config.hpp"
#include "workers/model/json_fields.hpp"

namespace model {
namespace {

// Above any published model, and low enough that no product of dimensions overflows.
constexpr int kMostLayers = 1 << 12;
constexpr int kMostHeads = 1 << 13;
constexpr int kWidestHead = 1 << 12;
constexpr int kWidest = 1 << 20;
constexpr int kLongestTable = 1 << 28;
constexpr int kPositionOffset = 2;  // rows of OPT's table before the first position

enum class Family { llama, mistral, qwen2, qwen3, opt };

constexpr std::pair<const char*, Family> kFamilies[] = {{"LlamaForCausalLM", Family::llama},
                                                        {"MistralForCausalLM", Family::mistral},
                                                        {"Qwen2ForCausalLM", Family::qwen2},
                                                        {"Qwen3ForCausalLM", Family::qwen3},
                                                        {"OPTForCausalLM", Family::opt}};

Family read_family(const JsonFields& in) {
  std::string allowed;
  for (const auto& [name, family] : kFamilies)
    allowed += (allowed.empty() ? "one of [\"" : ", [\"") + std::string(name) + "\"]";
  if (!in.has("architectures")) in.refuse("architectures", allowed);
  const nlohmann::json& names = in.array("architectures");
  for (const auto& [name, family] : kFamilies)
    if (names == nlohmann::json::array({name})) return family;
  in.refuse("architectures", allowed);
}

DType read_dtype(const JsonFields& in) {
  const std::string key = in.has("dtype") ? "dtype" : "torch_dtype";
  const std::string name = in.text(key, "float32");
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    if (name == to_text(type)) return type;
  in.refuse(key, "\"float32\", \"bfloat16\" or \"float16\"");
}

void read_llama3(const JsonFields& in, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::llama3;
  scaling.low_freq_factor = in.number("low_freq_factor", 1e-6, 1e6);
  scaling.high_freq_factor = in.number("high_freq_factor", 1e-6, 1e6);
  if (scaling.high_freq_factor <= scaling.low_freq_factor)
    in.refuse("high_freq_factor", "a number above low_freq_factor");
}

void read_yarn(const JsonFields& in, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::yarn;
  scaling.beta_fast = in.number("beta_fast", 1e-6, 1e6, 32);
  scaling.beta_slow = in.number("beta_slow", 1e-6, 1e6, 1);
  if (scaling.beta_fast <= scaling.beta_slow) in.refuse("beta_fast", "a number above beta_slow");
  scaling.attention_factor = in.number("attention_factor", 1e-6, 1e6, 0);
  in.only("truncate", true);
  in.unsupported("mscale");
  in.unsupported("mscale_all_dim");
}

/// `max_context` is used as the original context when the checkpoint does not state it.
RopeScaling read_rope_scaling(const JsonFields& in, int max_context) {
  RopeScaling scaling;
  const std::string key = in.has("rope_type") ? "rope_type" : "type";
  const std::string type = in.text(key, "default");
  in.only("partial_rotary_factor", 1);
  if (type == "default") return scaling;
  if (type != "llama3" && type != "yarn") in.refuse(key, R"("default", "llama3" or "yarn")");
  scaling.factor = in.number("factor", 1, 1e6);
  scaling.original_max_context =
      in.count("original_max_position_embeddings", kLongestTable, max_context);
  if (type == "llama3") read_llama3(in, scaling);
  if (type == "yarn") read_yarn(in, scaling);
  return scaling;
}

void read_rope(const JsonFields& in, ModelConfig& config) {
  constexpr double kLeastTheta = 1.001, kMostTheta = 1e12;
  config.rope_theta = in.number("rope_theta", kLeastTheta, kMostTheta, 10000);
  in.only("partial_rotary_factor", 1);
  const std::string key = in.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!in.has(key)) return;
  const JsonFields rope = in.object(key);
  config.rope_theta = rope.number("rope_theta", kLeastTheta, kMostTheta, config.rope_theta);
  config.rope_scaling = read_rope_scaling(rope, config.shape.max_context);
}

void read_common(const JsonFields& in, ModelConfig& config) {
  ModelShape& s = config.shape;
  in.unsupported("quantization_config");
  s.layers = in.count("num_hidden_layers", kMostLayers);
  s.hidden = in.count("hidden_size", kWidest);
  s.heads = in.count("num_attention_heads", kMostHeads);
  s.vocab = in.count("vocab_size", kLongestTable);
  s.max_context = in.count("max_position_embeddings", kLongestTable);
  config.dtype = read_dtype(in);
  s.dtype_bytes = size_of(config.dtype);
}

int head_dim_of_hidden(const JsonFields& in, const ModelShape& s) {
  if (s.hidden % s.heads != 0) in.refuse("num_attention_heads", "a divisor of hidden_size");
  return s.hidden / s.heads;
}

/// Mistral's window is null where it is off. Qwen's configurations give a window that a switch, and
/// since transformers 5 a list of the layers' kinds, turns on.
void refuse_sliding_window(const JsonFields& in, Family family) {
  if (family == Family::llama || family == Family::mistral) return in.unsupported("sliding_window");
  in.only("use_sliding_window", false);
  if (!in.has("layer_types")) return;
  for (const nlohmann::json& type : in.array("layer_types"))
    if (type != "full_attention") in.refuse("layer_types", "\"full_attention\" for every layer");
}

void read_llama(const JsonFields& in, Family family, ModelConfig& config) {
  ModelShape& s = config.shape;
  // The defaults of the other families are not the number of heads, and their files state it.
  s.kv_heads = family == Family::llama ? in.count("num_key_value_heads", kMostHeads, s.heads)
                                       : in.count("num_key_value_heads", kMostHeads);
  if (s.heads % s.kv_heads != 0) in.refuse("num_key_value_heads", "a divisor of the heads");
  constexpr int kHeadOfQwen3 = 128;
  s.head_dim = in.has("head_dim")        ? in.count("head_dim", kWidestHead)
               : family == Family::qwen3 ? kHeadOfQwen3
                                         : head_dim_of_hidden(in, s);
  if (s.head_dim % 2 != 0) in.refuse("head_dim", "an even number, for rotary positions");
  s.intermediate = in.count("intermediate_size", kWidest);
  s.gated_mlp = true;
  s.qkv_biases = family == Family::qwen2;
  s.qk_norms = family == Family::qwen3;
  s.tied_embeddings = in.boolean("tie_word_embeddings", false);
  config.norm_eps = in.number("rms_norm_eps", 1e-12, 1e-2, 1e-6);
  in.only("hidden_act", "silu");
  if (family != Family::qwen2) in.only("attention_bias", false);
  in.only("mlp_bias", false);
  in.only("pretraining_tp", 1);
  refuse_sliding_window(in, family);
  read_rope(in, config);
}

void read_opt(const JsonFields& in, ModelConfig& config) {
  ModelShape& s = config.shape;
  s.kv_heads = s.heads;
  s.head_dim = head_dim_of_hidden(in, s);
  s.intermediate = in.count("ffn_dim", kWidest);
  s.biases = true;
  s.learned_positions = s.max_context + kPositionOffset;
  s.tied_embeddings = in.boolean("tie_word_embeddings", true);
  config.norm_eps = 1e-5;  // default of torch.nn.LayerNorm: the configuration has no key for it
  in.only("activation_function", "relu");
  in.only("do_layer_norm_before", true);
  in.only("_remove_final_layer_norm", false);
  in.only("enable_bias", true);
  in.only("layer_norm_elementwise_affine", true);
  in.only("word_embed_proj_dim", s.hidden);
}

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

ModelConfig read_huggingface_config(const std::filesystem::path& dir) {
  const std::filesystem::path file = dir / "config.json";
  const nlohmann::json json = parse_object(read_text(file), file.string());
  const JsonFields in(json, file.string());
  ModelConfig config;
  config.shape.name = (dir / "").lexically_normal().parent_path().filename().string();
  const Family family = read_family(in);
  config.architecture = family == Family::opt ? Architecture::opt : Architecture::llama;
  read_common(in, config);
  if (family == Family::opt)
    read_opt(in, config);
  else
    read_llama(in, family, config);
  return config;
}

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
