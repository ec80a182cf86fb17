#include <cmath>
#include <cstring>

#include "kernels/random_weight.hpp"
#include "tests/model/reference.hpp"
#include "tests/support/catch.hpp"
#include "workers/model/convert.hpp"
#include "workers/profiles/profiles.hpp"

using model::DType;
using model::Parameter;

namespace {

model::ModelConfig shipped(const std::string& name) {
  return worker::load_model_config("sweeps", name);
}

std::vector<std::byte> read(const model::WeightSource& source, const Parameter& parameter,
                            DType type) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(parameter.elements() * model::size_of(type)));
  source.read(parameter, type, bytes);
  return bytes;
}

std::vector<float> values(const model::WeightSource& source, const Parameter& parameter) {
  std::vector<float> floats(static_cast<std::size_t>(parameter.elements()));
  source.read(parameter, DType::f32, std::as_writable_bytes(std::span(floats)));
  return floats;
}

std::vector<std::byte> read_all(const model::ModelConfig& config, std::uint64_t seed, int threads) {
  const model::WeightLayout layout = model::weight_layout(config, config.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(layout.bytes));
  model::read_all(*model::random_weights(config, seed), layout, config.dtype, bytes, threads);
  return bytes;
}

/// Throws for one parameter in the middle.
class BrokenSource : public model::WeightSource {
 public:
  std::string describe() const override { return "broken"; }
  std::string digest() const override { return "broken"; }
  void read(const Parameter& parameter, DType, std::span<std::byte>) const override {
    if (parameter.name == "layers.1.out.weight") throw std::runtime_error("unreadable");
  }
};

}  // namespace

TEST_CASE("an element depends on seed, parameter and position alone, by the shared formula") {
  const model::ModelConfig config = shipped("tiny-opt");
  const model::WeightLayout layout = model::weight_layout(config, DType::f32);
  const auto source = model::random_weights(config, 42);
  for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
    const Parameter& parameter = layout.parameters[p];
    CAPTURE(parameter.name);
    const float amplitude = model::random_amplitude(parameter, config);
    const std::vector<float> got = values(*source, parameter);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float expected =
          parameter.kind == Parameter::Kind::norm_weight
              ? 1
              : kernels::random_weight(42, static_cast<std::uint32_t>(p), i, amplitude);
      wrong += got[i] != expected;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the values do not change: a formula in another language gives the same sums") {
  for (const std::string& name : model_fixtures::kRandom) {
    CAPTURE(name);
    const model_fixtures::Reference reference(name);
    const auto source = reference.weights();
    double sum = 0, sum_abs = 0;
    for (const Parameter& p : model::weight_layout(reference.config, DType::f32).parameters)
      for (const float value : values(*source, p)) sum += value, sum_abs += std::abs(value);
    CHECK(sum == Approx(reference.json()["weights"]["sum"].get<double>()).epsilon(1e-9));
    CHECK(sum_abs == Approx(reference.json()["weights"]["sum_abs"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("a rounded type holds the float32 values rounded") {
  const model::ModelConfig config = shipped("tiny-llama-3");
  const model::WeightLayout layout = model::weight_layout(config, DType::bf16);
  const auto source = model::random_weights(config, 3);
  const Parameter& parameter = layout.parameters[static_cast<std::size_t>(layout.head)];
  const std::vector<float> exact = values(*source, parameter);
  for (const DType type : {DType::bf16, DType::f16}) {
    std::vector<std::byte> rounded(exact.size() * 2);
    model::convert(DType::f32, std::as_bytes(std::span(exact)), type, rounded);
    CHECK(read(*source, parameter, type) == rounded);
  }
}

TEST_CASE("reading all weights gives the same bytes on any number of threads") {
  for (const std::string& name : model_fixtures::kRandom) {
    CAPTURE(name);
    const std::vector<std::byte> one = read_all(shipped(name), 9, 1);
    CHECK(read_all(shipped(name), 9, 2) == one);
    CHECK(read_all(shipped(name), 9, 7) == one);
    CHECK(read_all(shipped(name), 10, 2) != one);
  }
}

TEST_CASE("an error while weights are read on several threads reaches the caller") {
  const model::ModelConfig config = shipped("tiny-llama-3");
  const model::WeightLayout layout = model::weight_layout(config, config.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(layout.bytes));
  for (const int threads : {1, 4})
    CHECK_THROWS_WITH(model::read_all(BrokenSource(), layout, config.dtype, bytes, threads),
                      "unreadable");
  CHECK_THROWS_AS(model::read_all(BrokenSource(), layout, config.dtype,
                                  std::span(bytes).first(bytes.size() - 1), 1),
                  std::invalid_argument);
}

TEST_CASE(
    "a linear layer's random weights keep the magnitude of its inputs, and the head's spread it") {
  const model::ModelConfig config = shipped("llama-3.1-8b");
  const model::WeightLayout layout = model::weight_layout(config, config.dtype);
  // The variance of a uniform value is a third of its squared amplitude.
  const auto gain = [&](int position) {
    const Parameter& p = layout.parameters[static_cast<std::size_t>(position)];
    const double amplitude = model::random_amplitude(p, config);
    return std::sqrt(amplitude * amplitude / 3 * static_cast<double>(p.cols));
  };
  CHECK(gain(layout.layers[0].qkv_weight) == Approx(1));
  CHECK(gain(layout.layers[0].down_weight) == Approx(1));
  CHECK(gain(layout.head) == Approx(4));
}

TEST_CASE("random values are spread evenly over the whole interval") {
  const model::ModelConfig config = shipped("tiny-llama-3");
  const model::WeightLayout layout = model::weight_layout(config, DType::f32);
  const Parameter& p = layout.parameters[static_cast<std::size_t>(layout.layers[1].up_weight)];
  const float amplitude = model::random_amplitude(p, config);
  std::vector<int> counts(10);
  const std::vector<float> all = values(*model::random_weights(config, 5), p);
  for (const float value : all) {
    REQUIRE(std::abs(value) < amplitude);
    ++counts[static_cast<std::size_t>((value / amplitude + 1) * 5)];
  }
  for (const int count : counts)
    CHECK(count == Approx(static_cast<double>(all.size()) / 10).epsilon(0.03));
}

TEST_CASE("random weights are named by their seed, never by a path") {
  const auto a = model::random_weights(shipped("tiny-opt"), 1);
  CHECK(a->describe() == "random, seed 1");
  CHECK(a->digest() == model::random_weights(shipped("tiny-opt"), 1)->digest());
  CHECK(a->digest() != model::random_weights(shipped("tiny-opt"), 2)->digest());
  CHECK(a->digest() != model::random_weights(shipped("tiny-llama-3"), 1)->digest());
}

TEST_CASE("a buffer of another size than the parameter is refused") {
  const model::ModelConfig config = shipped("tiny-opt");
  const model::WeightLayout layout = model::weight_layout(config, DType::f32);
  std::vector<std::byte> bytes(8);
  CHECK_THROWS_AS(model::random_weights(config, 1)->read(layout.parameters[0], DType::f32, bytes),
                  std::invalid_argument);
}
