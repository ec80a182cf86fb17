#pragma once
// Reads tests/fixtures/models (see its README.md): logits computed by Hugging Face transformers,
// for tests that compare a backend with them.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "workers/model/weights.hpp"

namespace model_fixtures {

inline const std::filesystem::path kFolder = "tests/fixtures/models";

/// Checkpoints in files, and models with random weights of the shipped profile of the same name.
inline const std::vector<std::string> kCheckpoints = {"llama-3", "opt", "qwen2", "qwen3",
                                                      "yarn-llama-2"};
inline const std::vector<std::string> kRandom = {"tiny-llama-3", "tiny-opt", "tiny-yarn-llama-2"};

inline std::vector<std::string> all_names() {
  std::vector<std::string> names = kCheckpoints;
  names.insert(names.end(), kRandom.begin(), kRandom.end());
  return names;
}

inline nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

/// Distance of transformers' own logits in a rounded type from those in float32.
struct Error {
  double columns;       // relative L2, over the columns
  double last;          // over the last logits; not stored for `greedy`
  double max_abs;       // over all logits of all positions
  double same_highest;  // share of the positions
};
using Errors = std::map<std::string, Error>;  // by type: "bfloat16", "float16"

/// Logits in float32 of one sequence.
struct Sequence {
  std::vector<int> tokens;               // tokens that were fed
  std::span<const float> column_logits;  // [tokens][columns]
  std::span<const float> last_logits;    // [vocab]; empty for the greedy sequence
  double max_abs_logit = 0;
  Errors errors;
};

class Reference {
 public:
  explicit Reference(const std::string& name)
      : folder_(kFolder / name), json_(read_json(folder_ / "reference.json")) {
    std::ifstream in(folder_ / "reference.bin", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    floats_.resize(bytes.size() / sizeof(float));
    std::memcpy(floats_.data(), bytes.data(), floats_.size() * sizeof(float));
    columns = json_["columns"].get<std::vector<int>>();
    vocab = json_["vocab"];
    config = model::read_huggingface_config(folder_);
    for (const nlohmann::json& prompt : json_["prompts"]) prompts.push_back(sequence(prompt));
    const nlohmann::json& greedy_json = json_["greedy"];
    greedy_tokens = greedy_json["tokens"].get<std::vector<int>>();
    greedy_prompt = prompts[greedy_json["prompt"].get<std::size_t>()].tokens;
    greedy_gaps = floats_at(greedy_json["gap"], greedy_tokens.size());
    greedy = sequence(greedy_json);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// The weights of the logits; read them in float32 to get the same.
  std::unique_ptr<model::WeightSource> weights() const {
    const nlohmann::json& weights = json_["weights"];
    if (weights["kind"] == "safetensors") return model::open_checkpoint(folder_, config);
    return model::random_weights(config, weights["seed"].get<std::uint64_t>());
  }
  /// Relative L2 distance over everything stored, of type "bfloat16" or "float16".
  double error(const std::string& type) const { return json_["errors"][type]; }
  const nlohmann::json& json() const { return json_; }

  model::ModelConfig config;
  int vocab = 0;
  std::vector<int> columns;  // tokens of the vocabulary
  std::vector<Sequence> prompts;
  std::vector<int> greedy_prompt;
  std::vector<int> greedy_tokens;      // chosen by transformers after greedy_prompt
  std::span<const float> greedy_gaps;  // highest logit less the second, at each of them
  Sequence greedy;                     // feeding greedy_prompt and greedy_tokens but the last

 private:
  std::span<const float> floats_at(std::size_t place, std::size_t count) const {
    return std::span(floats_).subspan(place, count);
  }
  std::vector<int> fed_tokens(const nlohmann::json& json) const {
    if (!json.contains("prompt")) return json["tokens"];
    std::vector<int> fed = greedy_prompt;
    fed.insert(fed.end(), greedy_tokens.begin(), greedy_tokens.end() - 1);
    return fed;
  }
  Sequence sequence(const nlohmann::json& json) const {
    Sequence sequence;
    sequence.tokens = fed_tokens(json);
    sequence.column_logits =
        floats_at(json["column_logits"], sequence.tokens.size() * columns.size());
    if (json.contains("last_logits"))
      sequence.last_logits = floats_at(json["last_logits"], static_cast<std::size_t>(vocab));
    sequence.max_abs_logit = json["max_abs_logit"];
    for (const auto& [type, e] : json["errors"].items())
      sequence.errors[type] = {e["columns"], e["last"], e["max_abs"], e["same_highest"]};
    return sequence;
  }

  std::filesystem::path folder_;
  nlohmann::json json_;
  std::vector<float> floats_;
};

}  // namespace model_fixtures
