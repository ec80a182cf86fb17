#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "workers/workload/tokenizer/bpe_vocabulary.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"

namespace workload {

/// In bytes. The longest published token is 128 blanks. Reading a token takes time quadratic in its
/// length.
inline constexpr std::size_t kLongestToken = 4096;

/// The content of a tokenizer file.
struct BpeSource {
  BpeVocabulary vocabulary;
  std::vector<std::string> patterns;  // of the pre-tokenizer, in order
  ControlTokens control;
  std::string note;  // features of the file that are not applied; part of the tokenizer's name
};

/// Reads `text`, the content of the rank file at `path`: lines "base64 rank" with ranks 0, 1, 2,
/// ...
BpeSource read_rank_file(const std::string& text, const std::string& path);

/// Reads `text`, the content of the tokenizer.json at `path`.
BpeSource read_tokenizer_json(const std::string& text, const std::string& path);

}  // namespace workload
