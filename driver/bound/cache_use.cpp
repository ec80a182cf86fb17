#include "driver/bound/cache_use.hpp"

#include <algorithm>

namespace driver {

std::optional<CacheUse> cache_use_of(sweep::ArchiveReader& archive, const std::string& key,
                                     const worker::ExperimentConfig& config,
                                     const bounds::TurnBlocks& blocks) {
  const auto& cells = archive.cells();
  const auto cell = std::ranges::find(cells, key, &sweep::CellRecord::key);
  if (cell == cells.end()) return std::nullopt;
  const sweep::Table turns = archive.load_table(static_cast<int>(cell - cells.begin()), "turns");
  if (turns.rows() == 0) return std::nullopt;
  const auto& job = turns.values<std::int32_t>("job");
  const auto& turn = turns.values<std::int32_t>("turn");
  const auto& admitted = turns.values<double>("t_admit_s");
  const auto& finished = turns.values<double>("t_finish_s");
  const auto& prompt = turns.values<std::int32_t>("prompt_tok");
  const auto& on_gpu = turns.values<std::int32_t>("cached_gpu_tok");
  const auto& on_host = turns.values<std::int32_t>("cached_host_tok");
  const int block = config.engine.kv.block_size;
  std::vector<bounds::Served> served;
  std::int64_t prompts = 0, hits = 0, missed = 0;
  for (std::size_t row = 0; row < turns.rows(); ++row) {
    const int hit = on_gpu[row] + on_host[row];
    prompts += prompt[row];
    hits += hit;
    missed += (prompt[row] - 1) / block - hit / block;
    served.push_back({job[row], turn[row], admitted[row], finished[row]});
  }
  const bounds::MissBound least = blocks.least_misses(served, bounds::block_capacity(config));
  return CacheUse{static_cast<double>(hits) / static_cast<double>(prompts),
                  static_cast<double>(missed), static_cast<double>(least.least),
                  static_cast<double>(least.compulsory)};
}

}  // namespace driver
