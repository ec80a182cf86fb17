#pragma once
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <vector>

#include "tests/cell/cell.hpp"
#include "tests/support/catch.hpp"
#include "workers/bounds/cell_bound.hpp"

namespace bounds_test {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int up_to(int most) { return static_cast<int>(random_() % (static_cast<unsigned>(most) + 1)); }
  template <class T>
  T any_of(std::initializer_list<T> values) {
    return *(values.begin() + up_to(static_cast<int>(values.size()) - 1));
  }

 private:
  std::mt19937 random_;
};

struct Ran {
  double mean_jct_s = 0;
  std::int64_t hit_tokens = 0, missed_blocks = 0;  // at first admissions
  std::vector<bounds::Served> turns;
};

inline Ran run(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads) {
  const auto result = worker::run_experiment(config, workloads);
  const auto& jct = result.jobs.values<double>("jct_wall_s");
  Ran ran{std::accumulate(jct.begin(), jct.end(), 0.0) / static_cast<double>(jct.size()), 0, 0, {}};
  const auto whole = [&](const char* column) -> const auto& {
    return result.turns.values<std::int32_t>(column);
  };
  const int block = config.engine.kv.block_size;
  for (std::size_t row = 0; row < result.turns.rows(); ++row) {
    const int hit = whole("cached_gpu_tok")[row] + whole("cached_host_tok")[row];
    ran.hit_tokens += hit;
    ran.missed_blocks += (whole("prompt_tok")[row] - 1) / block - hit / block;
    ran.turns.push_back({whole("job")[row], whole("turn")[row],
                         result.turns.values<double>("t_admit_s")[row],
                         result.turns.values<double>("t_finish_s")[row]});
  }
  return ran;
}

/// How near the cells come to the bounds.
struct Near {
  int mean = 0, hits = 0, misses = 0, beyond_compulsory = 0;
};

/// Requires that the cell beats none of its bounds.
inline bounds::MeanBound require_bounds(const worker::ExperimentConfig& config, Near& near) {
  worker::WorkloadCache workloads;
  const bounds::MeanBound mean = bounds::bound_of(config, workloads).mean;
  const Ran ran = run(config, workloads);
  REQUIRE(ran.mean_jct_s >= mean.best_s() * (1 - 1e-9));
  near.mean += ran.mean_jct_s < 1.02 * mean.best_s() ? 1 : 0;
  const auto most = bounds::most_hits_of(config, workloads).most_tokens;
  REQUIRE(ran.hit_tokens <= most);
  near.hits += ran.hit_tokens == most ? 1 : 0;
  const auto misses = bounds::turn_blocks_of(config, workloads)
                          .least_misses(ran.turns, bounds::block_capacity(config));
  REQUIRE(misses.compulsory <= misses.least);
  REQUIRE(ran.missed_blocks >= misses.least);
  near.misses += ran.missed_blocks == misses.least ? 1 : 0;
  near.beyond_compulsory += misses.least > misses.compulsory ? 1 : 0;
  return mean;
}

}  // namespace bounds_test
