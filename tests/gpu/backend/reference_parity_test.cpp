#include <cmath>

#include "tests/gpu/backend/gpu_world.hpp"
#include "tests/model/reference.hpp"

using namespace gpu_backend_test;
using model_fixtures::Reference;

namespace {

/// Relative L2 distance over many rows.
class Distance {
 public:
  void add(float found, float expected) {
    difference_ += std::pow(double{found} - double{expected}, 2);
    size_ += std::pow(double{expected}, 2);
  }
  void add(std::span<const float> found, std::span<const float> expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) add(found[i], expected[i]);
  }
  double relative() const { return std::sqrt(difference_ / size_); }

 private:
  double difference_ = 0, size_ = 0;
};

Tokens as_tokens(const std::vector<int>& ids) { return {ids.begin(), ids.end()}; }

/// A fixture's model on the device, in the type of its configuration.
struct Model {
  explicit Model(const std::string& name, backends::CudaCellOptions options = small_cell(40))
      : reference(name),
        source(reference.weights()),
        weights(reference.config, {.source = *source, .seed = {}, .group = {}}),
        backend(make_backend(weights, options)) {}

  /// Logits after the last token, with the prompt cut into chunks of at most `chunk` tokens.
  std::vector<float> last_logits(const std::vector<int>& prompt, int chunk) {
    Steps steps;
    engine::Request& request = steps.request(as_tokens(prompt), blocks_from(1, 10));
    for (int at = 0; at < request.num_prompt(); at += chunk)
      backend->execute(steps.step({{request, at, std::min(at + chunk, request.num_prompt())}}));
    return backend->logits();
  }

  /// 1.5 times the error of transformers in this type.
  double allowed() const { return 1.5 * reference.error(to_text(reference.config.dtype)); }

  Reference reference;
  std::unique_ptr<model::WeightSource> source;
  backends::cuda::DeviceWeights weights;
  std::unique_ptr<backends::cuda::GpuBackend> backend;
};

}  // namespace

TEST_CASE("logits of prompts, whole and in chunks, are as near to float32 as transformers' are") {
  NEEDS_DEVICE;
  for (const std::string& name : model_fixtures::all_names()) {
    CAPTURE(name);
    Model model(name);
    for (const int chunk : {512, 32, 5, 1}) {
      CAPTURE(chunk);
      Distance distance;
      for (const auto& prompt : model.reference.prompts)
        distance.add(model.last_logits(prompt.tokens, chunk), prompt.last_logits);
      std::cout << name << ", chunks of " << chunk << ": " << distance.relative() << " of "
                << model.allowed() << " allowed\n";
      CHECK(distance.relative() <= model.allowed());
    }
  }
}

TEST_CASE("attention over a prompt's own rows gives what attention over its blocks gives") {
  NEEDS_DEVICE;
  for (const std::string& name : model_fixtures::kCheckpoints) {
    CAPTURE(name);
    backends::CudaCellOptions options = small_cell(40);
    Model paged(name, options);
    options.prefill_attention = backends::PrefillAttention::contiguous;
    Model contiguous(name, options);
    for (const auto& prompt : paged.reference.prompts)
      CHECK(contiguous.last_logits(prompt.tokens, 512) == paged.last_logits(prompt.tokens, 512));
  }
}

TEST_CASE("64 tokens decoded after a prompt follow transformers' but for near ties") {
  NEEDS_DEVICE;
  for (const std::string& name : model_fixtures::all_names()) {
    CAPTURE(name);
    Model model(name);
    const Reference& reference = model.reference;
    Steps steps;
    engine::Request& request =
        steps.request(as_tokens(reference.greedy_prompt), blocks_from(1, 10));
    Distance distance;
    int at = 0;
    for (std::size_t i = 0; i < reference.greedy_tokens.size(); ++i) {
      const bool decode = i > 0;
      const auto result =
          model.backend->execute(steps.step({{request, at, request.num_tokens(), decode}}));
      at = request.num_tokens();
      const std::vector<float> logits = model.backend->logits();
      const auto row = reference.greedy.column_logits.subspan(
          static_cast<std::size_t>(at - 1) * reference.columns.size(), reference.columns.size());
      for (std::size_t c = 0; c < row.size(); ++c)
        distance.add(logits[static_cast<std::size_t>(reference.columns[c])], row[c]);
      const auto expected = static_cast<engine::TokenId>(reference.greedy_tokens[i]);
      CAPTURE(i, reference.greedy_gaps[i]);
      if (result.sampled[0] != expected) CHECK(reference.greedy_gaps[i] < 0.5);
      request.outputs.push_back(expected);
    }
    std::cout << name << ", decoding: " << distance.relative() << " of " << model.allowed()
              << " allowed\n";
    CHECK(distance.relative() <= model.allowed());
  }
}
