// Qwen2 and Qwen3 against the formulas of their papers and of transformers' modeling files, written
// out in float64 for a model of one layer.
#include <cmath>

#include "tests/cpu/served_jobs.hpp"
#include "tests/support/catch.hpp"

using namespace cpu_test;

namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

model::ModelConfig one_layer(bool qkv_biases, bool qk_norms) {
  model::ModelConfig config = small_model(model::Architecture::llama);
  config.shape.layers = 1;
  config.shape.qkv_biases = qkv_biases;
  config.shape.qk_norms = qk_norms;
  return config;
}

/// Values that differ from 1 in norm weights and from 0 in biases, by the parameter's name, so that
/// models of two families share what both have.
class NamedWeights : public model::WeightSource {
 public:
  std::string describe() const override { return "by name"; }
  std::string digest() const override { return "by name"; }
  void read(const model::Parameter& parameter, model::DType type,
            std::span<std::byte> out) const override {
    REQUIRE(type == model::DType::f32);
    const bool is_norm = parameter.kind == model::Parameter::Kind::norm_weight;
    std::uint32_t state = static_cast<std::uint32_t>(std::hash<std::string>()(parameter.name)) | 1;
    auto* values = reinterpret_cast<float*>(out.data());
    for (std::int64_t i = 0; i < parameter.elements(); ++i) {
      state = state * 1664525u + 1013904223u;
      values[i] = (is_norm ? 1.0f : 0.0f) + (static_cast<float>(state >> 8) / (1 << 24) - 0.5f);
    }
  }
};

/// The model's answer to a prompt, straight from the formulas.
class Formula {
 public:
  explicit Formula(const backends::CpuWeights& weights)
      : w_(weights), s_(weights.shape()), layer_(weights.layout().layers[0]) {}

  Rows logits(const Tokens& prompt) const {
    Rows hidden;
    for (const engine::TokenId token : prompt)
      hidden.push_back(row(w_.layout().embedding, static_cast<int>(token), s_.hidden));
    const Rows attended = attention(hidden);
    for (std::size_t t = 0; t < hidden.size(); ++t) {
      add(hidden[t], linear(attended[t], layer_.out_weight, -1));
      const Row up = linear(norm(hidden[t], layer_.mlp_norm_weight), layer_.up_weight, -1);
      Row activated;
      for (int i = 0; i < s_.intermediate; ++i) {
        const double gate = up[static_cast<std::size_t>(i)];
        activated.push_back(gate / (1 + std::exp(-gate)) *
                            up[static_cast<std::size_t>(s_.intermediate + i)]);
      }
      add(hidden[t], linear(activated, layer_.down_weight, -1));
      hidden[t] = linear(norm(hidden[t], w_.layout().final_norm_weight), w_.layout().head, -1);
    }
    return hidden;
  }

 private:
  Row row(int parameter, int index, int width) const {
    const float* first = w_.at(parameter) + std::int64_t{index} * width;
    return {first, first + width};
  }
  Row linear(const Row& x, int weight, int bias) const {
    const auto& shape = w_.layout().parameters[static_cast<std::size_t>(weight)];
    Row out;
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      double sum = bias >= 0 ? w_.at(bias)[r] : 0;
      for (std::size_t c = 0; c < x.size(); ++c)
        sum += x[c] * w_.at(weight)[r * shape.cols + static_cast<std::int64_t>(c)];
      out.push_back(sum);
    }
    return out;
  }
  Row norm(const Row& x, int weight) const {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double scale =
        1 / std::sqrt(squares / static_cast<double>(x.size()) + w_.config().norm_eps);
    Row out;
    for (std::size_t i = 0; i < x.size(); ++i)
      out.push_back(x[i] * scale * w_.at(weight)[static_cast<std::int64_t>(i)]);
    return out;
  }
  static void add(Row& to, const Row& what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
  }
  /// One head of a row of queries, keys or values behind each other.
  Row head_of(const Row& qkv, int head) const {
    const auto first = qkv.begin() + std::ptrdiff_t{head} * s_.head_dim;
    return {first, first + s_.head_dim};
  }
  Row rotated(const Row& head, std::size_t position) const {
    Row out = head;
    const std::size_t half = head.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * w_.rope().inverse_frequency[i];
      out[i] = head[i] * std::cos(angle) - head[i + half] * std::sin(angle);
      out[i + half] = head[i + half] * std::cos(angle) + head[i] * std::sin(angle);
    }
    return out;
  }
  Row prepared(const Row& qkv, int head, int norm_weight, std::size_t position) const {
    const Row plain = head_of(qkv, head);
    return rotated(s_.qk_norms ? norm(plain, norm_weight) : plain, position);
  }
  Rows attention(const Rows& hidden) const {
    Rows qkv, out;
    for (const Row& x : hidden)
      qkv.push_back(
          linear(norm(x, layer_.attention_norm_weight), layer_.qkv_weight, layer_.qkv_bias));
    for (std::size_t t = 0; t < hidden.size(); ++t) {
      Row all;
      for (int head = 0; head < s_.heads; ++head)
        for (const double value : one_head(qkv, head, t)) all.push_back(value);
      out.push_back(all);
    }
    return out;
  }
  Row one_head(const Rows& qkv, int head, std::size_t t) const {
    const int kv_head = s_.heads + head / (s_.heads / s_.kv_heads);
    const Row query = prepared(qkv[t], head, layer_.q_norm_weight, t);
    Row sums(static_cast<std::size_t>(s_.head_dim));
    double total = 0;
    for (std::size_t j = 0; j <= t; ++j) {
      const Row key = prepared(qkv[j], kv_head, layer_.k_norm_weight, j);
      double score = 0;
      for (std::size_t i = 0; i < key.size(); ++i) score += query[i] * key[i];
      const double weight = std::exp(score / std::sqrt(s_.head_dim));
      const Row value = head_of(qkv[j], kv_head + s_.kv_heads);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * value[i];
      total += weight;
    }
    for (double& sum : sums) sum /= total;
    return sums;
  }

  const backends::CpuWeights& w_;
  const model::ModelShape& s_;
  const model::LayerParameters& layer_;
};

const Tokens kPrompt = {3, 60, 17, 17, 5, 42, 8, 1, 29};

Rows served_logits(const backends::CpuWeights& weights) {
  Serving serving = plain_serving(64, model::DType::f32);
  Rows rows(kPrompt.size());
  serving.on_row = [&](int, int, int position, std::span<const float> logits) {
    if (static_cast<std::size_t>(position) < rows.size())
      rows[static_cast<std::size_t>(position)].assign(logits.begin(), logits.end());
  };
  serve(weights, {{.arrival = {}, .turns = {{.fresh = kPrompt, .max_tokens = 1}}}}, serving);
  return rows;
}

double distance(const Rows& a, const Rows& b) {
  double greatest = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    REQUIRE(a[t].size() == b[t].size());
    for (std::size_t i = 0; i < a[t].size(); ++i)
      greatest = std::max(greatest, std::abs(a[t][i] - b[t][i]));
  }
  return greatest;
}

}  // namespace

TEST_CASE("logits of Llama, Qwen2 and Qwen3 are those of the formulas", "[families]") {
  for (const auto& [biases, norms] : {std::pair(false, false), {true, false}, {false, true}}) {
    CAPTURE(biases, norms);
    const backends::CpuWeights weights(one_layer(biases, norms), NamedWeights(), model::DType::f32,
                                       1);
    CHECK(distance(served_logits(weights), Formula(weights).logits(kPrompt)) < 2e-5);
  }
}

TEST_CASE("the biases of Qwen2 and the norms of Qwen3 change the answer", "[families]") {
  const auto logits = [](bool biases, bool norms) {
    return served_logits({one_layer(biases, norms), NamedWeights(), model::DType::f32, 1});
  };
  const Rows llama = logits(false, false);
  CHECK(distance(logits(true, false), llama) > 1e-2);
  CHECK(distance(logits(false, true), llama) > 1e-2);
}
