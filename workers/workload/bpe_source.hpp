#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "workers/workload/bpe_vocabulary.hpp"
#include "workers/workload/tokenizer.hpp"

namespace workload {

/// In bytes. The longest published are 128 blanks; reading takes the square of the length.
inline constexpr std::size_t kLongestToken = 4096;

/// What a tokenizer file says.
struct BpeSource {
  BpeVocabulary vocabulary;
  std::vector<std::string> patterns;  // of the pre-tokenizer, in order
  ControlTokens control;
  std::string note;  // what the file asks for and is not done; part of the tokenizer's name
};

/// Reads `text`, the content of the rank file at `path`: lines "base64 rank" with ranks 0, 1, 2,
/// ...
BpeSource read_rank_file(const std::string& text, const std::string& path);

/// Reads `text`, the content of the tokenizer.json at `path`.
BpeSource read_tokenizer_json(const std::string& text, const std::string& path);

}  // namespace workload
