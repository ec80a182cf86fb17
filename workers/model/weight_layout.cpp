// Names of checkpoint tensors: those of Llama, Mistral, Qwen2, Qwen3 and OPT in Hugging Face
// transformers, without the prefix of the inner model, which differs between checkpoints.
#include "workers/model/weights.hpp"

#include <utility>

namespace model {
namespace {

constexpr std::int64_t kAlignment = 256;  // bytes: also the alignment of a GPU's allocator

using Kind = Parameter::Kind;
using Part = Parameter::Part;

class LayoutBuilder {
 public:
  explicit LayoutBuilder(DType stored_as) : element_bytes_(size_of(stored_as)) {}

  /// Adds a parameter of these parts and returns its index. `cols` are those of a matrix or table.
  int add(const std::string& name, Kind kind, const std::vector<Part>& parts,
          std::int64_t cols = 1) {
    Parameter parameter{.name = name, .kind = kind, .cols = cols, .parts = parts};
    for (const Part& part : parts) parameter.rows += part.rows;
    if (parameter.is_vector()) std::swap(parameter.rows, parameter.cols);
    parameter.offset = layout_.bytes;
    const std::int64_t bytes = parameter.elements() * element_bytes_;
    layout_.bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    layout_.parameters.push_back(std::move(parameter));
    return static_cast<int>(layout_.parameters.size()) - 1;
  }
  WeightLayout& layout() { return layout_; }

 private:
  int element_bytes_;
  WeightLayout layout_;
};

/// Names of the tensors of a layer.
struct LayerNames {
  const char* attention_norm;
  std::vector<const char*> qkv;
  const char* out;
  const char* mlp_norm;
  std::vector<const char*> up;
  const char* down;
};

LayerNames layer_names(Architecture architecture) {
  const std::vector<const char*> qkv{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
  if (architecture == Architecture::llama)
    return {"input_layernorm",
            qkv,
            "self_attn.o_proj",
            "post_attention_layernorm",
            {"mlp.gate_proj", "mlp.up_proj"},
            "mlp.down_proj"};
  return {"self_attn_layer_norm", qkv, "self_attn.out_proj", "final_layer_norm", {"fc1"}, "fc2"};
}

/// Adds the parameters of one layer: every linear layer and norm is one weight and possibly one
/// bias.
class LayerBuilder {
 public:
  LayerBuilder(LayoutBuilder& builder, const ModelShape& shape, int layer)
      : builder_(builder), shape_(shape), prefix_("layers." + std::to_string(layer) + ".") {}

  void norm(const std::string& name, const char* tensor, int& weight, int& bias) {
    const auto part = [&](const char* what) {
      return std::vector<Part>{{prefix_ + tensor + what, shape_.hidden}};
    };
    weight = builder_.add(prefix_ + name + ".weight", Kind::norm_weight, part(".weight"));
    if (shape_.biases) bias = builder_.add(prefix_ + name + ".bias", Kind::bias, part(".bias"));
  }
  void linear(const std::string& name, const std::vector<const char*>& tensors,
              const std::vector<std::int64_t>& rows, std::int64_t cols, bool has_bias, int& weight,
              int& bias) {
    const auto parts = [&](const char* what) {
      std::vector<Part> all;
      for (std::size_t i = 0; i < tensors.size(); ++i)
        all.push_back({prefix_ + tensors[i] + what, rows[i]});
      return all;
    };
    weight = builder_.add(prefix_ + name + ".weight", Kind::matrix, parts(".weight"), cols);
    if (has_bias) bias = builder_.add(prefix_ + name + ".bias", Kind::bias, parts(".bias"));
  }
  int head_norm(const std::string& name, const char* tensor) {
    return builder_.add(prefix_ + name + ".weight", Kind::norm_weight,
                        {{prefix_ + tensor + ".weight", shape_.head_dim}});
  }

 private:
  LayoutBuilder& builder_;
  const ModelShape& shape_;
  std::string prefix_;
};

LayerParameters add_layer(LayoutBuilder& builder, const ModelConfig& config, int layer) {
  const ModelShape& s = config.shape;
  const LayerNames names = layer_names(config.architecture);
  const std::int64_t query = std::int64_t{s.heads} * s.head_dim;
  const std::int64_t kv = std::int64_t{s.kv_heads} * s.head_dim;
  const std::vector<std::int64_t> up(names.up.size(), s.intermediate);
  LayerParameters p;
  LayerBuilder add(builder, s, layer);
  add.norm("attention_norm", names.attention_norm, p.attention_norm_weight, p.attention_norm_bias);
  add.linear("qkv", names.qkv, {query, kv, kv}, s.hidden, s.biases || s.qkv_biases, p.qkv_weight,
             p.qkv_bias);
  if (s.qk_norms) {
    p.q_norm_weight = add.head_norm("q_norm", "self_attn.q_norm");
    p.k_norm_weight = add.head_norm("k_norm", "self_attn.k_norm");
  }
  add.linear("out", {names.out}, {s.hidden}, query, s.biases, p.out_weight, p.out_bias);
  add.norm("mlp_norm", names.mlp_norm, p.mlp_norm_weight, p.mlp_norm_bias);
  add.linear("up", names.up, up, s.hidden, s.biases, p.up_weight, p.up_bias);
  add.linear("down", {names.down}, {s.hidden}, s.intermediate, s.biases, p.down_weight,
             p.down_bias);
  return p;
}

}  // namespace

WeightLayout weight_layout(const ModelConfig& config, DType stored_as) {
  const ModelShape& s = config.shape;
  LayoutBuilder builder(stored_as);
  WeightLayout& layout = builder.layout();
  layout.embedding =
      builder.add("embedding.weight", Kind::table, {{"embed_tokens.weight", s.vocab}}, s.hidden);
  if (s.learned_positions > 0)
    layout.positions = builder.add("positions.weight", Kind::table,
                                   {{"embed_positions.weight", s.learned_positions}}, s.hidden);
  for (int layer = 0; layer < s.layers; ++layer)
    layout.layers.push_back(add_layer(builder, config, layer));
  const std::string norm = config.architecture == Architecture::llama ? "norm" : "final_layer_norm";
  layout.final_norm_weight =
      builder.add("final_norm.weight", Kind::norm_weight, {{norm + ".weight", s.hidden}});
  if (s.biases)
    layout.final_norm_bias =
        builder.add("final_norm.bias", Kind::bias, {{norm + ".bias", s.hidden}});
  layout.head = s.tied_embeddings ? layout.embedding
                                  : builder.add("head.weight", Kind::matrix,
                                                {{"lm_head.weight", s.vocab}}, s.hidden);
  return layout;
}

}  // namespace model
