#include "tests/model/reference.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/model/config.hpp"
#include "workers/profiles/profiles.hpp"

using Catch::Matchers::Contains;
using nlohmann::json;
using Kind = model::RopeScaling::Kind;

namespace {

/// A checkpoint folder with its configuration alone.
class ConfigFolder {
 public:
  explicit ConfigFolder(json config) : config_(std::move(config)) {}
  json& operator[](const char* key) { return config_[key]; }
  model::ModelConfig read() const {
    dir_.write("config.json", config_.dump());
    return model::read_huggingface_config(dir_.path());
  }
  /// The error without the file's name, or "".
  std::string refusal(const char* key, const json& value) const {
    json changed = config_;
    changed[json::json_pointer(key)] = value;
    dir_.write("config.json", changed.dump());
    try {
      model::read_huggingface_config(dir_.path());
    } catch (const engine::InputError& error) {
      const std::string file = (dir_.path() / "config.json").string() + ": ", what = error.what();
      return what.starts_with(file) ? what.substr(file.size()) : "names no file: " + what;
    }
    return "";
  }
  support::TempDir dir_;

 private:
  json config_;
};

/// Llama-3.1-8B's, as written by transformers 4.
json llama_v4() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"attention_bias", false},
          {"hidden_act", "silu"},
          {"hidden_size", 4096},
          {"intermediate_size", 14336},
          {"max_position_embeddings", 131072},
          {"mlp_bias", false},
          {"num_attention_heads", 32},
          {"num_hidden_layers", 32},
          {"num_key_value_heads", 8},
          {"pretraining_tp", 1},
          {"rms_norm_eps", 1e-5},
          {"rope_scaling",
           {{"factor", 8.0},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0},
            {"original_max_position_embeddings", 8192},
            {"rope_type", "llama3"}}},
          {"rope_theta", 500000.0},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"},
          {"vocab_size", 128256}};
}

json opt() {
  return {{"architectures", json::array({"OPTForCausalLM"})},
          {"activation_function", "relu"},
          {"do_layer_norm_before", true},
          {"ffn_dim", 20480},
          {"hidden_size", 5120},
          {"max_position_embeddings", 2048},
          {"num_attention_heads", 40},
          {"num_hidden_layers", 40},
          {"torch_dtype", "float16"},
          {"vocab_size", 50272},
          {"word_embed_proj_dim", 5120}};
}

/// As their configurations were published (Qwen2.5-7B, Qwen3-8B, Mistral-7B-v0.3), by
/// transformers 4.
json of_llama_family(const char* architecture, const json& changes) {
  json config = {{"architectures", json::array({architecture})},
                 {"hidden_act", "silu"},
                 {"tie_word_embeddings", false},
                 {"torch_dtype", "bfloat16"},
                 {"rope_theta", 1000000.0}};
  config.update(changes);
  return config;
}

json qwen2() {
  return of_llama_family("Qwen2ForCausalLM", {{"attention_dropout", 0.0},
                                              {"hidden_size", 3584},
                                              {"intermediate_size", 18944},
                                              {"max_position_embeddings", 131072},
                                              {"max_window_layers", 28},
                                              {"num_attention_heads", 28},
                                              {"num_hidden_layers", 28},
                                              {"num_key_value_heads", 4},
                                              {"rms_norm_eps", 1e-6},
                                              {"sliding_window", 131072},
                                              {"use_mrope", false},
                                              {"use_sliding_window", false},
                                              {"vocab_size", 152064}});
}

json qwen3() {
  return of_llama_family("Qwen3ForCausalLM", {{"attention_bias", false},
                                              {"head_dim", 128},
                                              {"hidden_size", 4096},
                                              {"intermediate_size", 12288},
                                              {"max_position_embeddings", 40960},
                                              {"max_window_layers", 36},
                                              {"num_attention_heads", 32},
                                              {"num_hidden_layers", 36},
                                              {"num_key_value_heads", 8},
                                              {"rms_norm_eps", 1e-6},
                                              {"rope_scaling", nullptr},
                                              {"sliding_window", nullptr},
                                              {"use_sliding_window", false},
                                              {"vocab_size", 151936}});
}

json mistral() {
  return of_llama_family("MistralForCausalLM", {{"hidden_size", 4096},
                                                {"intermediate_size", 14336},
                                                {"max_position_embeddings", 32768},
                                                {"num_attention_heads", 32},
                                                {"num_hidden_layers", 32},
                                                {"num_key_value_heads", 8},
                                                {"rms_norm_eps", 1e-5},
                                                {"sliding_window", nullptr},
                                                {"vocab_size", 32768}});
}

void check_equal(const model::ModelConfig& a, const model::ModelConfig& b) {
  const auto dimensions = [](const model::ModelShape& s) {
    return std::vector<int>{s.layers,
                            s.hidden,
                            s.heads,
                            s.kv_heads,
                            s.head_dim,
                            s.vocab,
                            s.intermediate,
                            s.max_context,
                            s.dtype_bytes,
                            s.gated_mlp,
                            s.tied_embeddings,
                            s.biases,
                            s.learned_positions,
                            s.qkv_biases,
                            s.qk_norms};
  };
  CHECK(dimensions(a.shape) == dimensions(b.shape));
  CHECK(a.architecture == b.architecture);
  CHECK(a.dtype == b.dtype);
  CHECK(a.norm_eps == b.norm_eps);
  CHECK(a.rope_theta == b.rope_theta);
  CHECK(a.rope_scaling.kind == b.rope_scaling.kind);
  CHECK(a.rope_scaling.factor == b.rope_scaling.factor);
  CHECK(a.rope_scaling.original_max_context == b.rope_scaling.original_max_context);
  CHECK(a.rope_scaling.low_freq_factor == b.rope_scaling.low_freq_factor);
  CHECK(a.rope_scaling.high_freq_factor == b.rope_scaling.high_freq_factor);
  CHECK(a.rope_scaling.beta_fast == b.rope_scaling.beta_fast);
  CHECK(a.rope_scaling.beta_slow == b.rope_scaling.beta_slow);
}

}  // namespace

TEST_CASE("what transformers 5 writes of a shipped profile reads back as the profile") {
  for (const std::string& name : model_fixtures::kRandom) {
    CAPTURE(name);
    const model::ModelConfig config =
        model::read_huggingface_config(model_fixtures::kFolder / name);
    CHECK(config.shape.name == name);
    check_equal(config, worker::load_model_config("sweeps", name));
  }
}

TEST_CASE("what transformers 4 wrote of the published checkpoints is what their profiles say") {
  check_equal(ConfigFolder(llama_v4()).read(), worker::load_model_config("sweeps", "llama-3.1-8b"));
  check_equal(ConfigFolder(opt()).read(), worker::load_model_config("sweeps", "opt-13b"));
  check_equal(ConfigFolder(qwen2()).read(), worker::load_model_config("sweeps", "qwen2.5-7b"));
  check_equal(ConfigFolder(qwen3()).read(), worker::load_model_config("sweeps", "qwen3-8b"));
  check_equal(ConfigFolder(mistral()).read(), worker::load_model_config("sweeps", "mistral-7b"));
}

TEST_CASE("models that attend within a window are refused, and a window that is off is not") {
  CHECK(ConfigFolder(mistral()).refusal("/sliding_window", 4096) ==
        "sliding_window: found 4096, allowed: null, since this is not supported");
  for (const json& qwen : {qwen2(), qwen3()}) {
    const ConfigFolder folder(qwen);
    CHECK(folder.refusal("/sliding_window", 4096).empty());
    CHECK(folder.refusal("/use_sliding_window", true) ==
          "use_sliding_window: found true, allowed: false");
    CHECK(folder.refusal("/layer_types", {"full_attention", "full_attention"}).empty());
    CHECK_THAT(folder.refusal("/layer_types", {"full_attention", "sliding_attention"}),
               Contains("\"full_attention\" for every layer"));
  }
}

TEST_CASE("the heads of keys must be stated where their default is not the number of heads") {
  for (json config : {qwen2(), qwen3(), mistral()}) {
    config.erase("num_key_value_heads");
    CHECK_THROWS_WITH(ConfigFolder(config).read(), Contains("num_key_value_heads"));
  }
  CHECK(ConfigFolder(qwen3()).refusal("/attention_bias", true) ==
        "attention_bias: found true, allowed: false");
}

TEST_CASE("a checkpoint's configuration is its model's in all that the forward pass depends on") {
  const model::ModelConfig wanted = worker::load_model_config("sweeps", "llama-3.1-8b");
  const auto refusal = [&](const char* key, const json& value) {
    ConfigFolder folder(llama_v4());
    folder[key] = value;
    folder.read();
    try {
      model::require_configuration(folder.dir_.path(), wanted);
    } catch (const engine::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("torch_dtype", "float32").empty());
  CHECK(refusal("max_position_embeddings", 8192).empty());
  CHECK_THAT(refusal("rms_norm_eps", 1e-6),
             Contains("config.json: norm_eps: found 1e-06, expected the 1e-05 of the model "
                      "llama-3.1-8b"));
  CHECK_THAT(refusal("num_key_value_heads", 4), Contains("kv_heads: found 4, expected the 8"));
  CHECK_THAT(refusal("tie_word_embeddings", true), Contains("tied_embeddings: found 1"));
  CHECK_THAT(refusal("rope_theta", 10000), Contains("rope theta and scaling"));
  CHECK_THAT(refusal("rope_scaling", nullptr), Contains("rope theta and scaling"));
}

TEST_CASE("a checkpoint of another architecture is not its model's") {
  const ConfigFolder folder(opt());
  folder.read();
  CHECK_THROWS_WITH(model::require_configuration(
                        folder.dir_.path(), worker::load_model_config("sweeps", "llama-3.1-8b")),
                    Contains("architecture is not that of the model llama-3.1-8b"));
}

TEST_CASE("absent keys of a Llama have the meaning that LlamaConfig gives them") {
  json config = llama_v4();
  for (const char* key : {"num_key_value_heads", "rms_norm_eps", "rope_scaling", "rope_theta",
                          "tie_word_embeddings", "torch_dtype", "hidden_act"})
    config.erase(key);
  const model::ModelConfig read = ConfigFolder(config).read();
  CHECK(read.shape.kv_heads == 32);
  CHECK(read.shape.head_dim == 128);
  CHECK(read.norm_eps == 1e-6);
  CHECK(read.rope_theta == 10000);
  CHECK(read.rope_scaling.kind == Kind::none);
  CHECK_FALSE(read.shape.tied_embeddings);
  CHECK(read.dtype == model::DType::f32);
}

TEST_CASE("null counts as absent, and a head_dim of its own counts before hidden / heads") {
  ConfigFolder folder(llama_v4());
  folder["rope_scaling"] = nullptr;
  folder["head_dim"] = 64;
  const model::ModelConfig read = folder.read();
  CHECK(read.rope_scaling.kind == Kind::none);
  CHECK(read.shape.head_dim == 64);
}

TEST_CASE("YaRN is read with the paper's betas where the checkpoint names none") {
  ConfigFolder folder(llama_v4());
  folder["rope_scaling"] = {{"type", "yarn"},
                            {"factor", 32.0},
                            {"original_max_position_embeddings", 4096},
                            {"finetuned", true}};
  model::RopeScaling scaling = folder.read().rope_scaling;
  CHECK(scaling.kind == Kind::yarn);
  CHECK(scaling.factor == 32);
  CHECK(scaling.original_max_context == 4096);
  CHECK(scaling.beta_fast == 32);
  CHECK(scaling.beta_slow == 1);
  CHECK(scaling.attention_factor == 0);
  folder["rope_scaling"]["attention_factor"] = 1.25;
  folder["rope_scaling"]["beta_fast"] = 16;
  scaling = folder.read().rope_scaling;
  CHECK(scaling.attention_factor == 1.25);
  CHECK(scaling.beta_fast == 16);
}

TEST_CASE("without an original context YaRN starts from the configured one") {
  ConfigFolder folder(llama_v4());
  folder["rope_scaling"] = {{"type", "yarn"}, {"factor", 2.0}};
  CHECK(folder.read().rope_scaling.original_max_context == 131072);
}

TEST_CASE("a feature of Llama that is not supported is refused with key, found and allowed") {
  const ConfigFolder llama(llama_v4());
  CHECK(llama.refusal("/hidden_size", 4096).empty());
  CHECK(llama.refusal("/attention_bias", true) == "attention_bias: found true, allowed: false");
  CHECK(llama.refusal("/mlp_bias", true) == "mlp_bias: found true, allowed: false");
  CHECK(llama.refusal("/hidden_act", "gelu") == R"(hidden_act: found "gelu", allowed: "silu")");
  CHECK(llama.refusal("/pretraining_tp", 2) == "pretraining_tp: found 2, allowed: 1");
  CHECK(llama.refusal("/partial_rotary_factor", 0.5) ==
        "partial_rotary_factor: found 0.5, allowed: 1");
  CHECK(llama.refusal("/sliding_window", 4096) ==
        "sliding_window: found 4096, allowed: null, since this is not supported");
  CHECK(llama.refusal("/quantization_config", json{{"bits", 4}}) ==
        R"(quantization_config: found {"bits":4}, allowed: null, since this is not supported)");
  CHECK(llama.refusal("/torch_dtype", "float64") ==
        R"(torch_dtype: found "float64", allowed: "float32", "bfloat16" or "float16")");
  CHECK(llama.refusal("/rope_scaling/rope_type", "longrope") ==
        R"(rope_scaling.rope_type: found "longrope", allowed: "default", "llama3" or "yarn")");
  CHECK(llama.refusal("/rope_scaling/high_freq_factor", 1) ==
        "rope_scaling.high_freq_factor: found 1, allowed: a number above low_freq_factor");
  CHECK(llama.refusal("/rope_scaling", json{{"type", "yarn"}, {"factor", 2}, {"mscale", 1}}) ==
        "rope_scaling.mscale: found 1, allowed: null, since this is not supported");
  CHECK(
      llama.refusal("/rope_scaling", json{{"type", "yarn"}, {"factor", 2}, {"truncate", false}}) ==
      "rope_scaling.truncate: found false, allowed: true");
}

TEST_CASE("a feature of OPT that is not supported is refused with key, found and allowed") {
  const ConfigFolder folder(opt());
  CHECK(folder.refusal("/do_layer_norm_before", false) ==
        "do_layer_norm_before: found false, allowed: true");
  CHECK(folder.refusal("/word_embed_proj_dim", 512) ==
        "word_embed_proj_dim: found 512, allowed: 5120");
  CHECK(folder.refusal("/activation_function", "gelu") ==
        R"(activation_function: found "gelu", allowed: "relu")");
  CHECK(folder.refusal("/enable_bias", false) == "enable_bias: found false, allowed: true");
  CHECK(folder.refusal("/layer_norm_elementwise_affine", false) ==
        "layer_norm_elementwise_affine: found false, allowed: true");
  CHECK(folder.refusal("/_remove_final_layer_norm", true) ==
        "_remove_final_layer_norm: found true, allowed: false");
}

TEST_CASE("an unsupported architecture is refused with a list of the supported ones") {
  const std::string allowed =
      R"(, allowed: one of ["LlamaForCausalLM"], ["MistralForCausalLM"], ["Qwen2ForCausalLM"], )"
      R"(["Qwen3ForCausalLM"], ["OPTForCausalLM"])";
  const ConfigFolder folder(llama_v4());
  CHECK(folder.refusal("/architectures", {"GemmaForCausalLM"}) ==
        R"(architectures: found ["GemmaForCausalLM"])" + allowed);
  CHECK(folder.refusal("/architectures", nullptr) == "architectures: found nothing" + allowed);
  CHECK(folder.refusal("/architectures", "LlamaForCausalLM") ==
        R"(architectures: found "LlamaForCausalLM", allowed: an array)");
}

TEST_CASE("a missing, mistyped or impossible dimension is refused") {
  const ConfigFolder folder(llama_v4());
  const std::string allowed = ", allowed: an integer in [1, 1048576]";
  CHECK(folder.refusal("/hidden_size", nullptr) == "hidden_size: found nothing" + allowed);
  for (const json& wrong :
       {json(0), json(-1), json(4096.5), json("4096"), json(true), json(1ULL << 63), json(1 << 21)})
    CHECK(folder.refusal("/hidden_size", wrong) == "hidden_size: found " + wrong.dump() + allowed);
  CHECK(folder.refusal("/num_key_value_heads", 5) ==
        "num_key_value_heads: found 5, allowed: a divisor of the heads");
  CHECK(folder.refusal("/num_attention_heads", 24) ==
        "num_attention_heads: found 24, allowed: a divisor of hidden_size");
  CHECK(folder.refusal("/head_dim", 63) ==
        "head_dim: found 63, allowed: an even number, for rotary positions");
  CHECK(folder.refusal("/tie_word_embeddings", 1) ==
        "tie_word_embeddings: found 1, allowed: true or false");
  CHECK_THAT(folder.refusal("/rms_norm_eps", -1),
             Catch::Matchers::Contains("rms_norm_eps: found -1, allowed: a number in ["));
  CHECK_THAT(folder.refusal("/rope_theta", "big"), Catch::Matchers::Contains("found \"big\""));
}

TEST_CASE("a configuration that is not there or not JSON is refused with its file") {
  const support::TempDir dir;
  const std::string file = (dir.path() / "config.json").string();
  CHECK_THROWS_WITH(model::read_huggingface_config(dir.path()), file + ": cannot be read");
  dir.write("config.json", "{\"hidden_size\": ");
  CHECK_THROWS_WITH(model::read_huggingface_config(dir.path()),
                    Catch::Matchers::Contains(file + ": is not JSON: "));
  dir.write("config.json", "[1]");
  CHECK_THROWS_WITH(model::read_huggingface_config(dir.path()),
                    file + ": found [1], allowed: a JSON object");
}
