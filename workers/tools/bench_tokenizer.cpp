#include "workers/tools/bench_tokenizer.hpp"

#include <algorithm>
#include <fstream>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/errors.hpp"

namespace worker {

TokenizerSpeed measure_tokenizer(const workload::Tokenizer& tokenizer, std::string_view text,
                                 int repeats) {
  const engine::WallClock clock;
  std::vector<engine::TokenId> ids;
  auto fastest = engine::Nanos::max();
  for (int repeat = 0; repeat < std::max(1, repeats); ++repeat) {
    ids.clear();
    const auto begin = clock.now();
    tokenizer.encode(text, ids);
    fastest = std::min(fastest, clock.now() - begin);
  }
  const auto seconds = engine::to_seconds(std::max(fastest, engine::Nanos{1}));
  return {tokenizer.name(), static_cast<double>(text.size()) / 1e6 / seconds, text.size(),
          ids.size()};
}

TokenizerSpeed measure_tokenizer_file(const std::string& tokenizer_path,
                                      const std::string& text_path, int repeats) {
  std::ifstream file(text_path, std::ios::binary);
  if (!file) throw engine::InputError(text_path + ": cannot be read");
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const std::string text = sweep::input_text<engine::InputError>(file, text_path, kMost);
  return measure_tokenizer(*workload::load_tokenizer(tokenizer_path), text, repeats);
}

}  // namespace worker
