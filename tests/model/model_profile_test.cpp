#include <fstream>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/profiles/profiles.hpp"

using Kind = model::RopeScaling::Kind;

namespace {

/// A copy of one shipped model profile, in which a line can be corrupted.
class ProfileFolder {
 public:
  explicit ProfileFolder(const std::string& name) : name_(name) {
    std::stringstream text;
    text << std::ifstream("sweeps/models/" + name + ".toml").rdbuf();
    text_ = text.str();
    std::filesystem::create_directory(dir_.path() / "models");
  }
  /// The error after replacing the only line with this start, from the profile's name on.
  std::string refusal(const std::string& start, const std::string& line) const {
    std::string text = "\n" + text_;
    const std::size_t from = text.find("\n" + start) + 1;
    REQUIRE(from != 0);
    text.replace(from, text.find('\n', from) - from, line);
    dir_.write("models/" + name_ + ".toml", text);
    try {
      worker::load_model_config(dir_.path(), name_);
    } catch (const sweep::SpecError& error) {
      const std::string what = error.what();
      return what.substr(what.find(name_));
    }
    return "";
  }

 private:
  std::string name_, text_;
  support::TempDir dir_;
};

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the shipped profiles hold what the published configurations say") {
  const model::ModelConfig llama = worker::load_model_config("sweeps", "llama-3.1-8b");
  CHECK(llama.architecture == model::Architecture::llama);
  CHECK(llama.dtype == model::DType::bf16);
  CHECK(llama.norm_eps == 1e-5);
  CHECK(llama.rope_theta == 500000);
  CHECK(llama.rope_scaling.kind == Kind::llama3);
  CHECK(llama.rope_scaling.factor == 8);
  CHECK(llama.rope_scaling.low_freq_factor == 1);
  CHECK(llama.rope_scaling.high_freq_factor == 4);
  CHECK(llama.rope_scaling.original_max_context == 8192);
  const model::ModelConfig yarn = worker::load_model_config("sweeps", "yarn-llama-2-7b");
  CHECK(yarn.rope_scaling.kind == Kind::yarn);
  CHECK(yarn.rope_scaling.factor == 32);
  CHECK(yarn.rope_scaling.original_max_context == 4096);
  CHECK(yarn.rope_theta == 10000);
  const model::ModelConfig opt = worker::load_model_config("sweeps", "opt-13b");
  CHECK(opt.architecture == model::Architecture::opt);
  CHECK(opt.dtype == model::DType::f16);
  CHECK(opt.rope_scaling.kind == Kind::none);
}

TEST_CASE("the dimensions of a profile are those of its configuration") {
  const model::ModelShape shape = worker::load_model_config("sweeps", "tiny-llama-3").shape;
  CHECK(shape.name == "tiny-llama-3");
  CHECK(shape.heads == 4);
  CHECK(shape.kv_heads == 2);
  CHECK(shape.head_dim == 64);
}

TEST_CASE("a missing or impossible key of the forward pass is refused with its file") {
  const ProfileFolder llama("llama-3.1-8b");
  CHECK(contains(llama.refusal("architecture", ""), "\"architecture\" is missing"));
  CHECK(contains(llama.refusal("architecture", "architecture = \"mamba\""), "\"llama\", \"opt\""));
  CHECK(contains(llama.refusal("dtype =", "dtype = \"int8\""), "\"bfloat16\""));
  CHECK(contains(llama.refusal("dtype =", "dtype = \"float32\""), "dtype_bytes"));
  CHECK(contains(llama.refusal("norm_eps", "norm_eps = 0"), "norm_eps"));
  CHECK(contains(llama.refusal("theta", ""), "\"rope.theta\" is missing"));
  CHECK(contains(llama.refusal("scaling", "scaling = \"ntk\""), "\"none\", \"llama3\", \"yarn\""));
  CHECK(contains(llama.refusal("high_freq", "high_freq_factor = 1"), "above rope.low_freq_factor"));
  CHECK(contains(llama.refusal("factor", "facotr = 8"), "\"rope.factor\" is missing"));
}

TEST_CASE("keys of another kind of scaling are refused") {
  const ProfileFolder llama("llama-3.1-8b");
  CHECK(contains(llama.refusal("scaling", "scaling = \"none\""), "rope."));
  CHECK(contains(llama.refusal("low_freq", "low_freq_factor = 1\nbeta_fast = 32"), "beta_fast"));
  const ProfileFolder opt("opt-13b");
  CHECK(contains(opt.refusal("norm_eps", "norm_eps = 1e-5\n[rope]\ntheta = 1e4"), "rope.theta"));
}

TEST_CASE("a profile does not mix the parts of two architectures") {
  const ProfileFolder llama("llama-3.1-8b"), opt("opt-13b");
  CHECK(contains(llama.refusal("gated_mlp", "gated_mlp = false"), "gated_mlp"));
  CHECK(contains(llama.refusal("biases", "biases = true"), "biases"));
  CHECK(
      contains(llama.refusal("learned_positions", "learned_positions = 10"), "learned_positions"));
  CHECK(contains(llama.refusal("head_dim", "head_dim = 127"), "must be even"));
  CHECK(contains(llama.refusal("kv_heads", "kv_heads = 5"), "must divide heads"));
  CHECK(contains(opt.refusal("kv_heads", "kv_heads = 20"), "must be heads for opt"));
  CHECK(contains(opt.refusal("head_dim", "head_dim = 64"), "must be hidden / heads"));
  CHECK(contains(opt.refusal("learned_positions", "learned_positions = 2048"), "max_context + 2"));
}
