#include "workers/figures.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "workers/workload/workload_report.hpp"

namespace worker {
namespace {

using Values = std::vector<double>;

class Figures {
 public:
  void add(const std::string& name, double value, const std::string& unit) {
    figures_.push_back({name, value, unit});
  }

  /// Mean, median, 99th percentile and maximum of what was observed.
  void add_distribution(const std::string& name, Values values, const std::string& unit) {
    std::erase_if(values, [](double v) { return std::isnan(v); });
    const workload::Distribution d = workload::distribution_of(values);
    add(name + "_mean_s", d.mean, unit);
    add(name + "_p50_s", d.p50, unit);
    add(name + "_p99_s", d.p99, unit);
    add(name + "_max_s", d.max, unit);
  }

  std::vector<sweep::Figure> take() { return std::move(figures_); }

 private:
  std::vector<sweep::Figure> figures_;
};

template <class T>
double sum(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double max_of(const Values& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// Integrals over the time of the steps: blocks, and tokens' room that stays empty in them.
struct PoolUse {
  double used = 0, total = 0, wasted_tokens = 0;
};

PoolUse pool_use(const sweep::Table& steps) {
  const auto& duration = steps.values<double>("dur_s");
  const auto &used = steps.values<std::int32_t>("blk_used"),
             &pinned = steps.values<std::int32_t>("blk_pinned"),
             &cached = steps.values<std::int32_t>("blk_cached"),
             &empty = steps.values<std::int32_t>("blk_free"),
             &wasted = steps.values<std::int32_t>("kv_waste_tok");
  PoolUse use;
  for (std::size_t i = 0; i < duration.size(); ++i) {
    use.used += duration[i] * used[i];
    use.total += duration[i] * (used[i] + pinned[i] + cached[i] + empty[i]);
    use.wasted_tokens += duration[i] * wasted[i];
  }
  return use;
}

}  // namespace

std::vector<sweep::Figure> figures_of(const sweep::CellResult& tables, int block_size) {
  const sweep::Table &jobs = tables.jobs, &turns = tables.turns, &steps = tables.steps;
  Figures figures;
  figures.add_distribution("jct_wall", jobs.values<double>("jct_wall_s"), "s");
  figures.add_distribution("jct_turns", jobs.values<double>("jct_turns_s"), "s");
  figures.add_distribution("ttft", turns.values<double>("ttft_s"), "s");
  figures.add_distribution("tpot", turns.values<double>("tpot_s"), "s");
  figures.add_distribution("queue", turns.values<double>("queue_s"), "s");

  const double makespan = max_of(jobs.values<double>("t_finish_s"));
  const double prompt = sum(turns.values<std::int32_t>("prompt_tok"));
  const double output = sum(turns.values<std::int32_t>("output_tok"));
  figures.add("makespan_s", makespan, "s");
  figures.add("jobs", static_cast<double>(jobs.rows()), "");
  figures.add("turns", static_cast<double>(turns.rows()), "");
  figures.add("steps", static_cast<double>(steps.rows()), "");
  figures.add("step_mean_s",
              ratio(sum(steps.values<double>("dur_s")), static_cast<double>(steps.rows())), "s");
  figures.add("computed_tok", sum(steps.values<std::int32_t>("n_tok")), "tok");
  figures.add("output_tok_per_s", ratio(output, makespan), "tok/s");
  figures.add("prefix_hit_rate", ratio(sum(turns.values<std::int32_t>("cached_gpu_tok")), prompt),
              "");
  figures.add("host_hit_rate", ratio(sum(turns.values<std::int32_t>("cached_host_tok")), prompt),
              "");
  figures.add("recomputed_tok", sum(turns.values<std::int32_t>("recomputed_tok")), "tok");
  figures.add("preemptions", sum(turns.values<std::int32_t>("preemptions")), "");
  figures.add("load_stall_s", sum(turns.values<double>("load_stall_s")), "s");
  figures.add("h2d_bytes", sum(steps.values<std::int64_t>("h2d_bytes")), "B");
  figures.add("d2h_bytes", sum(steps.values<std::int64_t>("d2h_bytes")), "B");
  const PoolUse pool = pool_use(steps);
  figures.add("kv_used_pct", 100 * ratio(pool.used, pool.total), "%");
  figures.add("kv_waste_pct", 100 * ratio(pool.wasted_tokens, pool.used * block_size), "%");
  return figures.take();
}

}  // namespace worker
