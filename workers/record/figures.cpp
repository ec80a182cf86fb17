#include "workers/record/figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "sweeps/tables/schema.hpp"
#include "workers/workload/workload_report.hpp"

namespace worker {
namespace {

using sweep::ForwardKind;

class DecodeTimes {
 public:
  void add(std::int32_t batch, double seconds) { seen_[batch].push_back(seconds); }
  void close() {
    for (auto& [batch, seconds] : seen_) medians_.emplace(batch, workload::median(seconds));
  }
  /// Duration for the nearest batch size, the smaller one of a tie; 0 without decode-only steps.
  double operator()(std::int32_t batch) const {
    if (medians_.empty()) return 0;
    const auto above = medians_.lower_bound(batch);
    if (above == medians_.begin()) return above->second;
    const auto below = std::prev(above);
    if (above == medians_.end() || batch - below->first <= above->first - batch)
      return above != medians_.end() && above->first == batch ? above->second : below->second;
    return above->second;
  }

 private:
  std::map<std::int32_t, std::vector<double>> seen_;
  std::map<std::int32_t, double> medians_;
};

using Values = std::vector<double>;

double max_of(const Values& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// Not observed when no time was spent.
double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : sweep::kNotObserved;
}

/// Integrals over time: of blocks in use while steps run, of empty token slots in them, and of
/// blocks held by pins alone, between steps too.
struct PoolUse {
  double used = 0, total = 0, wasted_tokens = 0, pinned = 0;
  std::int32_t blocks = 0;
};

PoolUse pool_use(const sweep::Table& steps) {
  const auto &start = steps.values<double>("t_s"), &duration = steps.values<double>("dur_s");
  const auto &used = steps.values<std::int32_t>("blk_used"),
             &pinned = steps.values<std::int32_t>("blk_pinned"),
             &cached = steps.values<std::int32_t>("blk_cached"),
             &empty = steps.values<std::int32_t>("blk_free"),
             &wasted = steps.values<std::int32_t>("kv_waste_tok");
  PoolUse use;
  for (std::size_t i = 0; i < duration.size(); ++i) {
    use.blocks = used[i] + pinned[i] + cached[i] + empty[i];
    use.used += duration[i] * used[i];
    use.total += duration[i] * use.blocks;
    use.wasted_tokens += duration[i] * wasted[i];
    const double until_next = i + 1 < start.size() ? start[i + 1] - start[i] : duration[i];
    use.pinned += until_next * pinned[i];
  }
  return use;
}

/// For each job: how long its first turn waited for the first step that scheduled it.
Values admission_s(const sweep::Table& turns) {
  Values waits = between(turns, "t_arrive_s", "t_admit_s");
  const auto &turn = turns.values<std::int32_t>("turn"),
             &agent = turns.values<std::int32_t>("agent");
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (turn[i] > 0 || agent[i] > 0) waits[i] = sweep::kNotObserved;
  return waits;
}

void add_latencies(Figures& figures, const sweep::CellResult& tables) {
  const sweep::Table &jobs = tables.jobs, &turns = tables.turns;
  figures.add_distribution("jct_wall", jobs.values<double>("jct_wall_s"));
  figures.add_distribution("jct_turns", jobs.values<double>("jct_turns_s"));
  figures.add_distribution("ttft", turns.values<double>("ttft_s"));
  figures.add_distribution("tpot", turns.values<double>("tpot_s"));
  figures.add_distribution("queue", turns.values<double>("queue_s"));
  figures.add_distribution("first_token", between(jobs, "t_arrive_s", "t_first_token_s"));
  figures.add_distribution("admission", admission_s(turns));
}

void add_work(Figures& figures, const sweep::CellResult& tables) {
  const sweep::Table& steps = tables.steps;
  figures.add_sizes(tables);
  figures.add("steps", static_cast<double>(steps.rows()), "");
  const auto& running = steps.values<std::int32_t>("n_running");
  figures.add("running_peak", running.empty() ? 0 : *std::ranges::max_element(running), "");
  figures.add("computed_tok", sum<std::int32_t>(steps, "n_tok"), "tok");
  figures.add_throughput(tables);
}

void add_forwards(Figures& figures, const sweep::Table& steps, const ForwardTimes& times) {
  figures.add("forwards", times.count(), "");
  figures.add("prefill_tok_s",
              rate(sum<std::int32_t>(steps, "n_prefill_tok"), times.sum_prefill_s()), "tok/s");
  figures.add("decode_tok_s", rate(sum<std::int32_t>(steps, "n_decode"), times.sum_decode_s()),
              "tok/s");
}

/// For each returning turn of which it is known: how long it waited for its KV to load, or
/// recomputed it.
Values kv_late_s(const sweep::Table& turns) {
  const auto& turn = turns.values<std::int32_t>("turn");
  const auto &stall = turns.values<double>("load_stall_s"),
             &recompute = turns.values<double>("recompute_s");
  Values late;
  for (std::size_t i = 0; i < turn.size(); ++i)
    if (turn[i] > 0) late.push_back(stall[i] + recompute[i]);
  std::erase_if(late, [](double seconds) { return std::isnan(seconds); });
  return late;
}

void add_cache(Figures& figures, const sweep::Table& turns) {
  const double prompt = sum<std::int32_t>(turns, "prompt_tok");
  const double on_gpu = sum<std::int32_t>(turns, "cached_gpu_tok");
  const double on_host = sum<std::int32_t>(turns, "cached_host_tok");
  figures.add("prefix_hit_rate", ratio(on_gpu, prompt), "");
  figures.add("host_hit_rate", ratio(on_host, prompt), "");
  figures.add("gpu_hit_tok", on_gpu, "tok");
  figures.add("host_hit_tok", on_host, "tok");
  figures.add("disk_hit_tok", sum<std::int32_t>(turns, "cached_disk_tok"), "tok");
  figures.add("recomputed_tok", sum<std::int32_t>(turns, "recomputed_tok"), "tok");
  figures.add("preemptions", sum<std::int32_t>(turns, "preemptions"), "");
  figures.add("load_stall_s", sum<double>(turns, "load_stall_s"), "s");
  figures.add("kv_late_p99_s", workload::distribution_of(kv_late_s(turns)).p99, "s");
}

/// Marks the row of this value in a sorted column of /steps.
template <class T>
void mark(const std::vector<T>& column, T value, std::vector<char>& marked) {
  const auto at = std::ranges::lower_bound(column, value);
  if (at != column.end() && *at == value) marked[static_cast<std::size_t>(at - column.begin())] = 1;
}

/// For each row of /steps, whether KV of preempted requests was swapped out or in. A request that
/// is preempted block by block is swapped out over many steps.
std::vector<char> swap_steps(const sweep::CellResult& tables) {
  const sweep::Table &steps = tables.steps, &evictions = tables.evictions,
                     &events = tables.kv_events;
  const auto& starts = steps.values<double>("t_s");
  const auto &evicted = evictions.values<double>("t_evict_s"),
             &resumed = evictions.values<double>("t_resume_s");
  const auto& modes = evictions.values<std::int8_t>("mode");
  std::vector<char> marked(steps.rows());
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (modes[i] == static_cast<std::int8_t>(sweep::EvictionMode::recompute)) continue;
    mark(starts, evicted[i], marked);
    mark(starts, resumed[i], marked);
  }
  const auto &numbers = steps.values<std::int64_t>("step"),
             &of_event = events.values<std::int64_t>("step");
  const auto &kinds = events.values<std::int8_t>("kind"),
             &reasons = events.values<std::int8_t>("reason");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == static_cast<std::int8_t>(sweep::KvEventKind::swap_out) &&
        reasons[i] == static_cast<std::int8_t>(sweep::KvReason::partial))
      mark(numbers, of_event[i], marked);
  }
  return marked;
}

/// Seconds for which steps waited to swap KV of preempted requests out or in, or recomputed it. A
/// step counts once, for however many requests it does so.
double resume_overhead(const sweep::CellResult& tables, const ForwardTimes& times) {
  if (tables.evictions.rows() == 0) return 0;
  const std::vector<char> swaps = swap_steps(tables);
  const auto& stall = tables.steps.values<double>("stall_s");
  const auto& again = tables.steps.values<std::int32_t>("n_again_tok");
  double seconds = 0;
  for (std::size_t i = 0; i < swaps.size(); ++i)
    seconds += (swaps[i] != 0 ? stall[i] : 0) + (again[i] > 0 ? times.prefill_s()[i] : 0);
  return seconds;
}

/// Tokens that need no recomputation because swapped KV was restored.
double swapped_in_tokens(const sweep::Table& evictions, const BlockSize& block) {
  const auto& tokens = evictions.values<std::int32_t>("tokens");
  const auto& bytes = evictions.values<std::int64_t>("bytes");
  const auto& resumed = evictions.values<double>("t_resume_s");
  double kept = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (std::isnan(resumed[i]) || block.bytes == 0) continue;
    kept += std::min<double>(tokens[i], static_cast<double>(bytes[i] / block.bytes) * block.tokens);
  }
  return kept;
}

double bytes_of(const sweep::Table& events, sweep::KvEventKind of,
                std::optional<sweep::KvReason> because = {}) {
  const auto &kind = events.values<std::int8_t>("kind"),
             &reason = events.values<std::int8_t>("reason");
  const auto& bytes = events.values<std::int64_t>("bytes");
  double sum = 0;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    if (kind[i] == static_cast<std::int8_t>(of) &&
        (!because || reason[i] == static_cast<std::int8_t>(*because)))
      sum += static_cast<double>(bytes[i]);
  }
  return sum;
}

/// Seconds of prefill that the host tier saved, at this cell's prefill rate, less the seconds in
/// which all requests waited for its copies.
double net_benefit(const sweep::CellResult& tables, const ForwardTimes& times,
                   const BlockSize& block) {
  const sweep::Table& steps = tables.steps;
  const auto& capacity = steps.values<std::int32_t>("host_blk_total");
  const double computed = sum<std::int32_t>(steps, "n_prefill_tok");
  if (computed == 0 || capacity.back() == 0) return sweep::kNotObserved;
  const double saved = sum<std::int32_t>(tables.turns, "cached_host_tok") +
                       swapped_in_tokens(tables.evictions, block);
  return saved * times.sum_prefill_s() / computed - sum<double>(steps, "stall_s");
}

void add_copies(Figures& figures, const sweep::CellResult& tables, const ForwardTimes& times,
                const BlockSize& block) {
  const sweep::Table& steps = tables.steps;
  figures.add("h2d_bytes", sum<std::int64_t>(steps, "h2d_bytes"), "B");
  figures.add("d2h_bytes", sum<std::int64_t>(steps, "d2h_bytes"), "B");
  figures.add("stall_s", sum<double>(steps, "stall_s"), "s");
  figures.add("evictions", static_cast<double>(tables.evictions.rows()), "");
  figures.add("resume_overhead_s", resume_overhead(tables, times), "s");
  using Kind = sweep::KvEventKind;
  const sweep::Table& events = tables.kv_events;
  figures.add("unread_bytes", bytes_of(events, Kind::evict_host, sweep::KvReason::unread), "B");
  figures.add("disk_read_bytes", bytes_of(events, Kind::disk_load), "B");
  figures.add("disk_write_bytes", bytes_of(events, Kind::disk_store), "B");
  figures.add("tier_benefit_s", net_benefit(tables, times, block), "s");
}

void add_memory(Figures& figures, const sweep::CellResult& tables, const BlockSize& block) {
  const PoolUse pool = pool_use(tables.steps);
  figures.add("kv_used_pct", 100 * ratio(pool.used, pool.total), "%");
  figures.add("kv_waste_pct", 100 * ratio(pool.wasted_tokens, pool.used * block.tokens), "%");
  figures.add("gpu_blocks", pool.blocks, "blk");
  figures.add("gap_held_tok_s", pool.pinned * block.tokens, "tok s");
  figures.add("gap_held_gib_s", pool.pinned * static_cast<double>(block.bytes) / 0x1p30, "GiB s");
  const auto& used = tables.telemetry.values<std::int64_t>("mem_used_bytes");
  const double peak =
      used.empty() ? sweep::kNotObserved : static_cast<double>(*std::ranges::max_element(used));
  figures.add("peak_device_mem", peak, "B", true);
}

}  // namespace

ForwardTimes::ForwardTimes(const sweep::Table& steps) {
  const auto &duration = steps.values<double>("dur_s"), &stall = steps.values<double>("stall_s");
  const auto& kinds = steps.values<std::int8_t>("forward");
  const auto& batch = steps.values<std::int32_t>("n_decode");
  DecodeTimes alone;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<ForwardKind>(kinds[i]);
    count_ += kind == ForwardKind::none ? 0 : 1;
    if (kind == ForwardKind::decode) alone.add(batch[i], duration[i] - stall[i]);
  }
  alone.close();
  prefill_s_.resize(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<ForwardKind>(kinds[i]);
    if (kind == ForwardKind::none) continue;
    const double forward = duration[i] - stall[i];
    const double decode = kind == ForwardKind::prefill ? 0
                          : kind == ForwardKind::decode
                              ? forward
                              : std::clamp(alone(batch[i]), 0.0, std::max(forward, 0.0));
    prefill_s_[i] = forward - decode;
    sum_prefill_s_ += prefill_s_[i];
    sum_decode_s_ += decode;
  }
}

void Figures::add_distribution(const std::string& name, std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  const workload::Distribution d = workload::distribution_of(values);
  add(name + "_mean_s", d.mean, "s");
  add(name + "_p50_s", d.p50, "s");
  add(name + "_p99_s", d.p99, "s");
  add(name + "_max_s", d.max, "s");
}

void Figures::add_observed(const std::string& name, const std::vector<double>& values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isnan(value); }))
    return add_distribution(name, values);
  for (const char* part : {"_mean_s", "_p50_s", "_p99_s", "_max_s"})
    add(name + part, sweep::kNotObserved, "s");
}

void Figures::add_sizes(const sweep::CellResult& tables) {
  add("makespan_s", max_of(tables.jobs.values<double>("t_finish_s")), "s");
  add("jobs", static_cast<double>(tables.jobs.rows()), "");
  add("turns", static_cast<double>(tables.turns.rows()), "");
}

void Figures::add_throughput(const sweep::CellResult& tables) {
  const double makespan = max_of(tables.jobs.values<double>("t_finish_s"));
  const double prompt = sum<std::int32_t>(tables.turns, "prompt_tok"),
               output = sum<std::int32_t>(tables.turns, "output_tok");
  add("output_tok_per_s", ratio(output, makespan), "tok/s");
  add("total_tok_s", ratio(prompt + output, makespan), "tok/s");
}

Values between(const sweep::Table& table, const char* from, const char* to) {
  Values seconds = table.values<double>(to);
  std::ranges::transform(seconds, table.values<double>(from), seconds.begin(), std::minus());
  return seconds;
}

std::vector<sweep::Figure> figures_of(const sweep::CellResult& tables, const BlockSize& block) {
  Figures figures;
  const ForwardTimes times(tables.steps);
  add_latencies(figures, tables);
  add_work(figures, tables);
  add_forwards(figures, tables.steps, times);
  add_cache(figures, tables.turns);
  add_copies(figures, tables, times, block);
  add_memory(figures, tables, block);
  return figures.take();
}

}  // namespace worker
