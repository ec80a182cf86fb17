#pragma once
#include <cstddef>
#include <string_view>

#include "workers/workload/tokenizer/tokenizer.hpp"

namespace workload {

struct TokenizerSpeed {
  double megabytes_per_second;  // 1e6 bytes; the fastest repeat, on one core
  std::size_t bytes;            // of the text
  std::size_t tokens;           // of the text
};

/// Encodes the whole text `repeats` times (at least once).
TokenizerSpeed measure_tokenizer(const Tokenizer& tokenizer, std::string_view text, int repeats);

}  // namespace workload
