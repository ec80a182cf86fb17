#include "tests/cpu/model_fixture.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace cpu_test {
namespace {

using nlohmann::json;

/// Floats of reference.bin by position.
class Floats {
 public:
  explicit Floats(const std::filesystem::path& file) {
    all_.resize(std::filesystem::file_size(file) / sizeof(float));
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char*>(all_.data()),
              static_cast<std::streamsize>(all_.size() * sizeof(float)));
  }
  std::vector<float> at(std::size_t place, std::size_t count) const {
    if (place + count > all_.size()) throw std::runtime_error("reference.bin is too short");
    const auto first = all_.begin() + static_cast<std::ptrdiff_t>(place);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }

 private:
  std::vector<float> all_;
};

std::unique_ptr<model::WeightSource> weights_of(const json& weights,
                                                const std::filesystem::path& folder,
                                                const model::ModelConfig& config) {
  if (weights.at("kind") == "random")
    return model::random_weights(config, weights.at("seed").get<std::uint64_t>());
  return model::open_checkpoint(folder, config);
}

}  // namespace

ModelFixture::ModelFixture(const std::string& name) {
  const std::filesystem::path folder = "tests/fixtures/models/" + name;  // from the repository
  config = model::read_huggingface_config(folder);
  const json reference = json::parse(std::ifstream(folder / "reference.json"));
  const Floats floats(folder / "reference.bin");
  weights = weights_of(reference.at("weights"), folder, config);
  columns = reference.at("columns").get<std::vector<int>>();
  const auto vocab = reference.at("vocab").get<std::size_t>();
  for (const json& each : reference.at("prompts")) {
    Prompt& prompt = prompts.emplace_back();
    prompt.tokens = each.at("tokens").get<support::Tokens>();
    prompt.column_logits =
        floats.at(each.at("column_logits"), prompt.tokens.size() * columns.size());
    prompt.last_logits = floats.at(each.at("last_logits"), vocab);
    prompt.max_abs_logit = each.at("max_abs_logit");
    for (const model::DType type : {model::DType::bf16, model::DType::f16}) {
      const double error = each.at("errors").at(model::to_text(type)).at("max_abs");
      max_error_[type] = std::max(max_error_[type], error);
    }
  }
  const json& greedy = reference.at("greedy");
  greedy_prompt = prompts.at(greedy.at("prompt").get<std::size_t>());
  greedy_answer = greedy.at("tokens").get<support::Tokens>();
  greedy_max_abs_logit = greedy.at("max_abs_logit");
  const std::size_t fed = greedy_prompt.tokens.size() + greedy_answer.size() - 1;
  greedy_column_logits = floats.at(greedy.at("column_logits"), fed * columns.size());
}

}  // namespace cpu_test
