#include <algorithm>
#include <set>

#include "tests/support/catch.hpp"
#include "workers/model/weights.hpp"
#include "workers/profiles/profiles.hpp"

using model::DType;
using model::Parameter;
using model::WeightLayout;

namespace {

const std::vector<std::string> kModels = worker::profile_names("sweeps/models");

model::ModelConfig shipped(const std::string& name) {
  return worker::load_model_config("sweeps", name);
}

WeightLayout layout_of(const std::string& name, DType type = DType::bf16) {
  return model::weight_layout(shipped(name), type);
}

const Parameter& at(const WeightLayout& layout, int position) {
  return layout.parameters.at(static_cast<std::size_t>(position));
}

using Names = std::vector<std::string>;
using Sizes = std::vector<std::int64_t>;

Names names_of(const Parameter& parameter) {
  Names names;
  for (const Parameter::Part& part : parameter.parts) names.push_back(part.tensor);
  return names;
}

Sizes rows_of(const Parameter& parameter) {
  Sizes rows;
  for (const Parameter::Part& part : parameter.parts) rows.push_back(part.rows);
  return rows;
}

}  // namespace

TEST_CASE("a layout has every parameter of the model once") {
  for (const std::string& name : kModels) {
    CAPTURE(name);
    const WeightLayout layout = layout_of(name);
    std::int64_t elements = 0;
    std::set<std::string> names;
    for (const Parameter& parameter : layout.parameters) {
      elements += parameter.elements();
      names.insert(parameter.name);
    }
    CHECK(elements == model::total_params(shipped(name).shape));
    CHECK(names.size() == layout.parameters.size());
  }
}

TEST_CASE("parameters lie one behind the other, each at a multiple of 256 bytes") {
  for (const std::string& name : kModels)
    for (const DType type : {DType::f32, DType::bf16}) {
      CAPTURE(name, model::to_text(type));
      const WeightLayout layout = layout_of(name, type);
      std::int64_t end = 0;
      for (const Parameter& parameter : layout.parameters) {
        CHECK(parameter.offset % 256 == 0);
        CHECK(parameter.offset >= end);
        CHECK(parameter.offset - end < 256);
        end = parameter.offset + parameter.elements() * model::size_of(type);
      }
      CHECK(layout.bytes >= end);
      CHECK(layout.bytes % 256 == 0);
    }
}

TEST_CASE("a parameter of odd size is padded to the next multiple of 256 bytes") {
  model::ModelConfig config = shipped("tiny-llama-3");
  config.shape.vocab = 3;
  config.shape.hidden = 50;
  const WeightLayout layout = model::weight_layout(config, DType::bf16);
  CHECK(layout.parameters[0].elements() * 2 == 300);
  CHECK(layout.parameters[1].offset == 512);
  CHECK(layout.parameters[2].offset == 512 + 256);  // behind 50 norm weights
  CHECK(layout.bytes % 256 == 0);
}

TEST_CASE("the parts of a parameter are its rows, or the elements of a vector") {
  for (const std::string& name : kModels) {
    CAPTURE(name);
    for (const Parameter& parameter : layout_of(name).parameters) {
      CAPTURE(parameter.name);
      std::int64_t rows = 0;
      for (const Parameter::Part& part : parameter.parts) rows += part.rows;
      const bool vector =
          parameter.kind == Parameter::Kind::norm_weight || parameter.kind == Parameter::Kind::bias;
      CHECK(rows == (vector ? parameter.cols : parameter.rows));
      if (vector) CHECK(parameter.rows == 1);
    }
  }
}

TEST_CASE("a Llama layer stacks queries, keys and values, and gate and up") {
  const WeightLayout layout = layout_of("llama-3.1-8b");
  REQUIRE(layout.layers.size() == 32);
  const model::LayerParameters& layer = layout.layers[3];
  const Parameter& qkv = at(layout, layer.qkv_weight);
  CHECK(qkv.name == "layers.3.qkv.weight");
  CHECK(names_of(qkv) == Names{"layers.3.self_attn.q_proj.weight",
                               "layers.3.self_attn.k_proj.weight",
                               "layers.3.self_attn.v_proj.weight"});
  CHECK(rows_of(qkv) == Sizes{4096, 1024, 1024});
  CHECK(qkv.cols == 4096);
  const Parameter& up = at(layout, layer.up_weight);
  CHECK(names_of(up) == Names{"layers.3.mlp.gate_proj.weight", "layers.3.mlp.up_proj.weight"});
  CHECK(up.rows == 2 * 14336);
  const Parameter& down = at(layout, layer.down_weight);
  CHECK(down.rows == 4096);
  CHECK(down.cols == 14336);
  CHECK(names_of(at(layout, layer.attention_norm_weight)) ==
        Names{"layers.3.input_layernorm.weight"});
  CHECK(names_of(at(layout, layer.mlp_norm_weight)) ==
        Names{"layers.3.post_attention_layernorm.weight"});
  CHECK(names_of(at(layout, layer.out_weight)) == Names{"layers.3.self_attn.o_proj.weight"});
  for (const int absent :
       {layer.qkv_bias, layer.out_bias, layer.up_bias, layer.down_bias, layer.attention_norm_bias,
        layer.mlp_norm_bias, layout.positions, layout.final_norm_bias})
    CHECK(absent == -1);
}

TEST_CASE("an untied model has a head of its own, a tied one uses the embedding") {
  const WeightLayout llama = layout_of("llama-3.1-8b");
  CHECK(names_of(at(llama, llama.head)) == Names{"lm_head.weight"});
  CHECK(names_of(at(llama, llama.embedding)) == Names{"embed_tokens.weight"});
  CHECK(llama.head != llama.embedding);
  const WeightLayout opt = layout_of("opt-13b");
  CHECK(opt.head == opt.embedding);
}

TEST_CASE("an OPT layer has biases everywhere and a position table with two rows more") {
  const WeightLayout layout = layout_of("opt-13b");
  const model::LayerParameters& layer = layout.layers[39];
  const Parameter& positions = at(layout, layout.positions);
  CHECK(positions.rows == 2050);
  CHECK(positions.kind == Parameter::Kind::table);
  const Parameter& bias = at(layout, layer.qkv_bias);
  CHECK(names_of(bias) == Names{"layers.39.self_attn.q_proj.bias",
                                "layers.39.self_attn.k_proj.bias",
                                "layers.39.self_attn.v_proj.bias"});
  CHECK(bias.cols == 3 * 5120);
  CHECK(names_of(at(layout, layer.attention_norm_bias)) ==
        Names{"layers.39.self_attn_layer_norm.bias"});
  CHECK(names_of(at(layout, layer.mlp_norm_weight)) == Names{"layers.39.final_layer_norm.weight"});
  CHECK(names_of(at(layout, layer.out_bias)) == Names{"layers.39.self_attn.out_proj.bias"});
  CHECK(names_of(at(layout, layer.up_weight)) == Names{"layers.39.fc1.weight"});
  CHECK(at(layout, layer.up_weight).rows == 20480);
  CHECK(names_of(at(layout, layer.down_bias)) == Names{"layers.39.fc2.bias"});
  CHECK(names_of(at(layout, layout.final_norm_bias)) == Names{"final_layer_norm.bias"});
}

TEST_CASE("a Qwen2 layer has biases on queries, keys and values, and nowhere else") {
  const WeightLayout layout = layout_of("qwen2.5-7b");
  const model::LayerParameters& layer = layout.layers[27];
  const Parameter& bias = at(layout, layer.qkv_bias);
  CHECK(names_of(bias) == Names{"layers.27.self_attn.q_proj.bias",
                                "layers.27.self_attn.k_proj.bias",
                                "layers.27.self_attn.v_proj.bias"});
  CHECK(rows_of(bias) == Sizes{3584, 512, 512});
  for (const int absent : {layer.out_bias, layer.up_bias, layer.down_bias,
                           layer.attention_norm_bias, layer.q_norm_weight, layer.k_norm_weight})
    CHECK(absent == -1);
  const WeightLayout tied = layout_of("qwen2.5-1.5b");
  CHECK(tied.head == tied.embedding);
}

TEST_CASE("a Qwen3 layer has a norm of a head for queries and one for keys, and no biases") {
  const WeightLayout layout = layout_of("qwen3-8b");
  const model::LayerParameters& layer = layout.layers[35];
  CHECK(names_of(at(layout, layer.q_norm_weight)) == Names{"layers.35.self_attn.q_norm.weight"});
  CHECK(names_of(at(layout, layer.k_norm_weight)) == Names{"layers.35.self_attn.k_norm.weight"});
  CHECK(at(layout, layer.q_norm_weight).kind == Parameter::Kind::norm_weight);
  CHECK(at(layout, layer.q_norm_weight).cols == 128);
  CHECK(layer.qkv_bias == -1);
}
