#pragma once
#include <cstddef>
#include <string>

namespace worker {

struct TokenizerReport {
  std::string tokenizer;
  double megabytes_per_second = 0;  // 10^6 bytes, one core
  std::size_t bytes = 0;
  std::size_t tokens = 0;
};

/// Tokenizes a whole text file `repeats` times with the vocabulary of another file. Throws
/// engine::InputError.
TokenizerReport measure_tokenizer_file(const std::string& tokenizer_path,
                                       const std::string& text_path, int repeats);

}  // namespace worker
