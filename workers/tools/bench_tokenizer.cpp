#include "workers/tools/bench_tokenizer.hpp"

#include <fstream>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/tokenizer/bench.hpp"

namespace worker {

TokenizerReport measure_tokenizer_file(const std::string& tokenizer_path,
                                       const std::string& text_path, int repeats) {
  std::ifstream file(text_path, std::ios::binary);
  if (!file) throw engine::InputError(text_path + ": cannot be read");
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const std::string text = sweep::input_text<engine::InputError>(file, text_path, kMost);
  const auto tokenizer = workload::load_tokenizer(tokenizer_path);
  const workload::TokenizerSpeed speed = workload::measure_tokenizer(*tokenizer, text, repeats);
  return {tokenizer->name(), speed.megabytes_per_second, speed.bytes, speed.tokens};
}

}  // namespace worker
