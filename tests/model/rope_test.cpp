#include <cmath>

#include "tests/model/reference.hpp"
#include "tests/support/catch.hpp"
#include "workers/profiles/profiles.hpp"

namespace {

model::ModelConfig rotary(int head_dim, double theta) {
  model::ModelConfig config;
  config.shape.head_dim = head_dim;
  config.rope_theta = theta;
  return config;
}

model::ModelConfig llama3() {  // Llama-3.1's
  model::ModelConfig config = rotary(128, 500000);
  config.rope_scaling.kind = model::RopeScaling::Kind::llama3;
  config.rope_scaling.factor = 8;
  config.rope_scaling.original_max_context = 8192;
  return config;
}

model::ModelConfig yarn() {  // Yarn-Llama-2-7B-128k's
  model::ModelConfig config = rotary(128, 10000);
  config.rope_scaling.kind = model::RopeScaling::Kind::yarn;
  config.rope_scaling.factor = 32;
  config.rope_scaling.original_max_context = 4096;
  return config;
}

/// Frequency of the pair relative to that of the same model without scaling.
double kept(const model::ModelConfig& config, std::size_t pair) {
  const auto plain =
      model::rope_table(rotary(config.shape.head_dim, config.rope_theta)).inverse_frequency;
  return model::rope_table(config).inverse_frequency[pair] / plain[pair];
}

}  // namespace

TEST_CASE("rotary frequencies fall geometrically from 1 towards 1 / theta") {
  const model::RopeTable table = model::rope_table(rotary(8, 10000));
  REQUIRE(table.inverse_frequency.size() == 4);
  CHECK(table.inverse_frequency[0] == 1.0f);
  CHECK(table.inverse_frequency[1] == Approx(0.1));
  CHECK(table.inverse_frequency[2] == Approx(0.01));
  CHECK(table.inverse_frequency[3] == Approx(0.001));
  CHECK(table.scale == 1.0f);
}

TEST_CASE("learned positions have no rotary table") {
  model::ModelConfig config = rotary(64, 10000);
  config.architecture = model::Architecture::opt;
  CHECK(model::rope_table(config).inverse_frequency.empty());
}

TEST_CASE("llama3 keeps fast pairs, slows slow ones down by the factor and mixes between") {
  // Pairs 28 and 29 turn 4.19 and 3.41 times over 8,192 tokens, 34 and 35 turn 1.22 and 0.997
  // times.
  CHECK(kept(llama3(), 0) == 1);
  CHECK(kept(llama3(), 28) == 1);
  CHECK(kept(llama3(), 29) < 1);
  CHECK(kept(llama3(), 34) > 0.126);
  CHECK(kept(llama3(), 35) == Approx(1 / 8.0).epsilon(1e-6));
  CHECK(kept(llama3(), 63) == Approx(1 / 8.0).epsilon(1e-6));
  // Pair 31: 500000^(-62/128) * 8192 / (2 pi) = 2.2632... turns; (2.2632 - 1) / 3 of it is kept.
  const double turns = std::pow(500000.0, -62.0 / 128) * 8192 / (2 * std::acos(-1.0));
  const double share = (turns - 1) / 3;
  CHECK(kept(llama3(), 31) == Approx((1 - share) / 8 + share).epsilon(1e-6));
}

TEST_CASE(
    "YaRN keeps pairs of more than 32 turns, stretches those of less than one, ramps between") {
  // Pair of n turns: 128 ln(4096 / (2 pi n)) / (2 ln 10000): 20.9 for 32 turns, 45.03 for one.
  CHECK(kept(yarn(), 20) == 1);
  CHECK(kept(yarn(), 21) == Approx(1 - (1 - 1 / 32.0) / 26).epsilon(1e-6));
  CHECK(kept(yarn(), 33) == Approx((1 + 1 / 32.0) / 2).epsilon(1e-6));
  CHECK(kept(yarn(), 46) == Approx(1 / 32.0).epsilon(1e-6));
  CHECK(model::rope_table(yarn()).scale == Approx(1.3465736).epsilon(1e-6));  // 0.1 ln 32 + 1
}

TEST_CASE("an attention factor of the checkpoint takes the place of YaRN's own") {
  model::ModelConfig config = yarn();
  config.rope_scaling.attention_factor = 1.5;
  CHECK(model::rope_table(config).scale == 1.5f);
}

TEST_CASE("YaRN by a factor of one changes nothing") {
  model::ModelConfig config = yarn();
  config.rope_scaling.factor = 1;
  for (std::size_t pair = 0; pair < 64; ++pair) CHECK(kept(config, pair) == Approx(1));
  CHECK(model::rope_table(config).scale == 1.0f);
}

TEST_CASE("the rotary tables of all profiles are those that transformers computes") {
  const nlohmann::json tables = model_fixtures::read_json(model_fixtures::kFolder / "rope.json");
  CHECK(tables.size() == 9);
  for (const auto& [name, expected] : tables.items()) {
    CAPTURE(name);
    const model::RopeTable table = model::rope_table(worker::load_model_config("sweeps", name));
    CHECK(table.scale == Approx(expected["scale"].get<double>()).epsilon(1e-6));
    REQUIRE(table.inverse_frequency.size() == expected["inverse_frequency"].size());
    for (std::size_t i = 0; i < table.inverse_frequency.size(); ++i) {
      const double wanted = expected["inverse_frequency"][i];
      CHECK(table.inverse_frequency[i] ==
            Approx(wanted).epsilon(3e-6));  // the reference is float32
    }
  }
}
