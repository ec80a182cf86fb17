#include "workers/model/weights.hpp"

#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "kernels/random_weight.hpp"
#include "sweeps/files/sha256.hpp"
#include "workers/model/convert.hpp"

namespace model {
namespace {

constexpr float kBiasAmplitude = 0.1f;
constexpr double kHeadGain = 4;  // standard deviation of the logits

template <class Value>
void fill_as(DType type, std::span<std::byte> out, const Value& value) {
  with_scalar(type, [&](auto scalar) {
    using Scalar = decltype(scalar);
    auto* const elements = reinterpret_cast<Scalar*>(out.data());
    const std::size_t count = out.size() / sizeof(Scalar);
    for (std::size_t i = 0; i < count; ++i) elements[i] = kernels::from_float<Scalar>(value(i));
  });
}

class RandomWeights : public WeightSource {
 public:
  RandomWeights(const ModelConfig& config, std::uint64_t seed) : config_(config), seed_(seed) {
    const WeightLayout layout = weight_layout(config, config.dtype);
    std::string dimensions;
    for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
      const Parameter& parameter = layout.parameters[i];
      position_[parameter.name] = static_cast<std::uint32_t>(i);
      dimensions += std::to_string(parameter.rows) + 'x' + std::to_string(parameter.cols) + ' ';
    }
    digest_ = "random-" + std::to_string(kRandomWeightsVersion) + "-seed-" + std::to_string(seed) +
              '-' + sweep::sha256_of(dimensions);
  }

  std::string describe() const override { return "random, seed " + std::to_string(seed_); }
  std::string digest() const override { return digest_; }
  void read(const Parameter& parameter, DType type, std::span<std::byte> out) const override {
    if (out.size() != static_cast<std::size_t>(parameter.elements() * size_of(type)))
      throw std::invalid_argument("random weights: the buffer of " + parameter.name +
                                  " has another size than the parameter");
    if (parameter.kind == Parameter::Kind::norm_weight)
      return fill_as(type, out, [](std::size_t) { return 1.0f; });
    const float amplitude = random_amplitude(parameter, config_);
    const std::uint32_t position = position_.at(parameter.name);
    fill_as(type, out, [=, seed = seed_](std::size_t i) {
      return kernels::random_weight(seed, position, i, amplitude);
    });
  }

 private:
  ModelConfig config_;
  std::uint64_t seed_;
  std::string digest_;
  std::unordered_map<std::string, std::uint32_t> position_;  // in the layout
};

}  // namespace

float random_amplitude(const Parameter& parameter, const ModelConfig& config) {
  // A uniform value in (-a, a) has variance a^2 / 3: with this amplitude a sum over n inputs of
  // magnitude 1 has magnitude 1.
  const auto keeping_order = [](std::int64_t inputs) {
    return std::sqrt(3.0 / static_cast<double>(inputs));
  };
  switch (parameter.kind) {
    case Parameter::Kind::norm_weight:
      return 0;
    case Parameter::Kind::bias:
      return kBiasAmplitude;
    case Parameter::Kind::matrix: {
      const double gain = parameter.name == "head.weight" ? kHeadGain : 1;
      return static_cast<float>(gain * keeping_order(parameter.cols));
    }
    case Parameter::Kind::table:
      break;
  }
  // A tied table is also the head: with larger embeddings it would only repeat the last token.
  // Positions must not drown out the tokens that they are added to.
  if (config.shape.tied_embeddings) return static_cast<float>(keeping_order(parameter.cols));
  return static_cast<float>(keeping_order(1));
}

std::unique_ptr<WeightSource> random_weights(const ModelConfig& config, std::uint64_t seed) {
  return std::make_unique<RandomWeights>(config, seed);
}

}  // namespace model
