#include "workers/workload/tokenizer/bench.hpp"

#include <algorithm>

#include "workers/engine/base/clock.hpp"

namespace workload {

TokenizerSpeed measure_tokenizer(const Tokenizer& tokenizer, std::string_view text, int repeats) {
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
  return {static_cast<double>(text.size()) / 1e6 / seconds, text.size(), ids.size()};
}

}  // namespace workload
