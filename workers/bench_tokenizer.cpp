#include "workers/bench_tokenizer.hpp"

#include <fstream>
#include <sstream>

#include "workers/engine/errors.hpp"
#include "workers/workload/tokenizer_bench.hpp"

namespace worker {

TokenizerReport measure_tokenizer_file(const std::string& tokenizer_path,
                                       const std::string& text_path, int repeats) {
  std::ifstream file(text_path, std::ios::binary);
  if (!file) throw engine::InputError(text_path + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  const auto tokenizer = workload::load_tokenizer(tokenizer_path);
  const workload::TokenizerSpeed speed =
      workload::measure_tokenizer(*tokenizer, text.str(), repeats);
  return {tokenizer->name(), speed.megabytes_per_second, speed.bytes, speed.tokens};
}

}  // namespace worker
