#pragma once
#include <cstddef>
#include <string>

#include "workers/workload/tokenizer/tokenizer.hpp"

namespace worker {

struct TokenizerSpeed {
  std::string tokenizer;
  double megabytes_per_second;  // 1e6 bytes; the fastest repeat, on one core
  std::size_t bytes;            // of the text
  std::size_t tokens;           // of the text
};

/// Encodes the whole text `repeats` times (at least once).
TokenizerSpeed measure_tokenizer(const workload::Tokenizer& tokenizer, std::string_view text,
                                 int repeats);

/// The same for the text and the vocabulary of two files. Throws engine::InputError.
TokenizerSpeed measure_tokenizer_file(const std::string& tokenizer_path,
                                      const std::string& text_path, int repeats);

}  // namespace worker
