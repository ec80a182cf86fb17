#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/support/tokens.hpp"
#include "workers/model/weights.hpp"

namespace cpu_test {

/// A model of tests/fixtures/models with logits computed by another implementation; its README.md
/// describes the files.
struct ModelFixture {
  explicit ModelFixture(const std::string& name);

  struct Prompt {
    support::Tokens tokens;
    std::vector<float> column_logits;  // [tokens][columns]
    std::vector<float> last_logits;    // [vocab]
    double max_abs_logit = 0;
  };

  model::ModelConfig config;
  std::unique_ptr<model::WeightSource> weights;
  std::vector<int> columns;
  std::vector<Prompt> prompts;
  /// Largest distance of the other implementation's logits in this type from these.
  double max_error(model::DType type) const { return max_error_.at(type); }
  /// A prompt and its greedy continuation, fed as prompt and answer without the last token.
  Prompt greedy_prompt;
  support::Tokens greedy_answer;
  std::vector<float> greedy_column_logits;  // [prompt + answer - 1][columns]
  double greedy_max_abs_logit = 0;

 private:
  std::map<model::DType, double> max_error_;
};

}  // namespace cpu_test
