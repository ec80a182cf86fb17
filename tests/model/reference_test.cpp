#include "tests/model/reference.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

using model_fixtures::Reference;

TEST_CASE("the stored logits are those of prompts around the block size and of 64 greedy tokens") {
  for (const std::string& name : model_fixtures::all_names()) {
    CAPTURE(name);
    const Reference reference(name);
    CHECK(reference.vocab == reference.config.shape.vocab);
    CHECK(reference.columns.size() == 8);
    std::vector<std::size_t> lengths;
    for (const auto& prompt : reference.prompts) lengths.push_back(prompt.tokens.size());
    CHECK(lengths == std::vector<std::size_t>{1, 15, 16, 17, 80});
    CHECK(reference.greedy_tokens.size() == 64);
    CHECK(reference.greedy.tokens.size() == 17 + 64 - 1);
  }
}

TEST_CASE("every stored logit is finite and within the stored maximum, in all parts of the file") {
  for (const std::string& name : model_fixtures::all_names()) {
    CAPTURE(name);
    const Reference reference(name);
    std::vector<model_fixtures::Sequence> sequences = reference.prompts;
    sequences.push_back(reference.greedy);
    for (const auto& sequence : sequences) {
      double largest = 0;
      for (const auto logits : {sequence.column_logits, sequence.last_logits})
        for (const float logit : logits) largest = std::max<double>(largest, std::abs(logit));
      CHECK(largest > 0);
      CHECK(largest <= sequence.max_abs_logit);
    }
    for (const float gap : reference.greedy_gaps) CHECK(gap > 0);
  }
}

TEST_CASE("the last row of the columns repeats the last logits") {
  for (const std::string& name : model_fixtures::all_names()) {
    CAPTURE(name);
    const Reference reference(name);
    for (const auto& prompt : reference.prompts) {
      const auto row = prompt.column_logits.last(reference.columns.size());
      for (std::size_t i = 0; i < row.size(); ++i)
        CHECK(row[i] == prompt.last_logits[static_cast<std::size_t>(reference.columns[i])]);
    }
  }
}

TEST_CASE("transformers' own error in a rounded type is there to compare with") {
  for (const std::string& name : model_fixtures::all_names()) {
    CAPTURE(name);
    const Reference reference(name);
    CHECK(reference.error("bfloat16") < 0.02);
    CHECK(reference.error("float16") < reference.error("bfloat16"));
    for (const auto& prompt : reference.prompts) CHECK(prompt.errors.at("bfloat16").last > 0);
  }
}
