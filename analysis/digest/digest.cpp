#include "analysis/digest/digest.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analysis/text/list.hpp"
#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

constexpr double kBinsPerOctave = 4;     // in a histogram
constexpr double kFieldsPerOctave = 12;  // in a grid

int field_of(double value) {
  return value > 0 ? static_cast<int>(std::floor(kFieldsPerOctave * std::log2(value))) : -10'000;
}

using Values = std::vector<double>;

void add_sizes(StepSizes& sizes, const Values& tokens, const Values& seconds) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    sizes.histogram.add(static_cast<std::int64_t>(tokens[i]));
    sizes.line.add(tokens[i], seconds[i]);
    sizes.points.add(tokens[i], seconds[i]);
  }
}

void add_turn(TurnSums& sums, const TurnSums& more) {
  sums.turns += more.turns;
  sums.durations_s.insert(sums.durations_s.end(), more.durations_s.begin(), more.durations_s.end());
  sums.gpu_tok += more.gpu_tok;
  sums.host_tok += more.host_tok;
  sums.again_tok += more.again_tok;
  sums.new_tok += more.new_tok;
}

std::vector<TurnSums> by_turn(const sweep::Table& turns) {
  const Values index = numbers_of(turns, "turn"), arrive = numbers_of(turns, "t_arrive_s"),
               finish = numbers_of(turns, "t_finish_s"), prompt = numbers_of(turns, "prompt_tok"),
               gpu = numbers_of(turns, "cached_gpu_tok"),
               host = numbers_of(turns, "cached_host_tok"),
               again = numbers_of(turns, "recomputed_tok");
  std::vector<TurnSums> sums;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto at = static_cast<std::size_t>(index[i]);
    if (sums.size() <= at) sums.resize(at + 1);
    const double computed = std::max(0.0, prompt[i] - gpu[i] - host[i]);
    // A preempted turn recomputes tokens that its prompt counts only once.
    const double repeated = std::min(again[i], computed);
    const double duration = finish[i] - arrive[i];
    TurnSums one{1, {}, gpu[i], host[i], repeated, computed - repeated};
    if (!std::isnan(duration)) one.durations_s.push_back(duration);
    add_turn(sums[at], one);
  }
  return sums;
}

/// Adds the sums of each part over the turns of finished jobs; the rest of the time is "other".
void add_parts(JobDigest& digest, const sweep::Table& jobs, const sweep::Table& turns) {
  const Values number = numbers_of(jobs, "job"), jct = numbers_of(jobs, "jct_wall_s"),
               job = numbers_of(turns, "job");
  std::unordered_map<int, bool> finished;
  double explained = 0, all = 0;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (std::isnan(jct[i])) continue;
    finished[static_cast<int>(number[i])] = true;
    digest.jct_s.push_back(jct[i]);
    all += jct[i];
  }
  for (std::size_t part = 0; part + 1 < kJctParts.size(); ++part) {
    const Values seconds = numbers_of(turns, kJctParts[part].column);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      if (std::isnan(seconds[i]) || !finished.contains(static_cast<int>(job[i]))) continue;
      digest.part_s[part] += seconds[i];
    }
    explained += digest.part_s[part];
  }
  digest.part_s.back() = std::max(0.0, all - explained);
}

}  // namespace

int TokenHistogram::bin_of(std::int64_t tokens) {
  if (tokens <= 0) return -1;
  return static_cast<int>(std::floor(kBinsPerOctave * std::log2(static_cast<double>(tokens))));
}

std::int64_t TokenHistogram::first_of(int bin) {
  if (bin < 0) return 0;
  return static_cast<std::int64_t>(std::ceil(std::exp2(bin / kBinsPerOctave) - 1e-9));
}

void TokenHistogram::add(const TokenHistogram& other) {
  for (const auto& [bin, count] : other.counts_) counts_[bin] += count;
}

void ThinnedPoints::add(double x, double y) {
  const auto [place, is_new] = fields_.try_emplace({field_of(x), field_of(y)}, Point{x, y, 1});
  if (!is_new) ++place->second.count;
}

void ThinnedPoints::add(const ThinnedPoints& other) {
  for (const auto& [field, point] : other.fields_) {
    const auto [place, is_new] = fields_.try_emplace(field, point);
    if (!is_new) place->second.count += point.count;
  }
}

std::vector<ThinnedPoints::Point> ThinnedPoints::points() const {
  return mapped(fields_, [](const auto& field) { return field.second; });
}

Values bucket_means(std::span<const double> start, std::span<const double> value, double end,
                    int count) {
  if (start.empty() || count <= 0 || !(end > start.front())) return {};
  Values means(static_cast<std::size_t>(count), 0), covered = means;
  const double width = end / count;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double to = std::min(i + 1 < start.size() ? start[i + 1] : end, end);
    for (auto b = static_cast<std::size_t>(std::clamp(start[i] / width, 0.0, count - 1.0));
         b < means.size(); ++b) {
      const double left = static_cast<double>(b) * width;
      const double right = b + 1 == means.size() ? end : left + width;
      if (left >= to) break;
      const double within = std::min(to, right) - std::max(start[i], left);
      means[b] += value[i] * within;
      covered[b] += within;
    }
  }
  for (std::size_t b = 0; b < means.size(); ++b)
    means[b] = covered[b] > 0 ? means[b] / covered[b] : sweep::kNotObserved;
  return means;
}

Values numbers_of(const sweep::Table& table, std::string_view column) {
  if (!table.has(column)) return {};
  return numbers(table.column(column));
}

void StepSizes::add(const StepSizes& other) {
  histogram.add(other.histogram);
  line.add(other.line);
  points.add(other.points);
}

void StepDigest::add(const StepDigest& other) {
  total.add(other.total);
  largest.add(other.largest);
}

StepDigest digest_steps(const sweep::Table& steps) {
  StepDigest digest;
  const Values seconds = numbers_of(steps, "dur_s");
  add_sizes(digest.total, numbers_of(steps, "n_tok"), seconds);
  add_sizes(digest.largest, numbers_of(steps, "max_tok"), seconds);
  return digest;
}

void JobDigest::add(const JobDigest& other) {
  if (by_turn.size() < other.by_turn.size()) by_turn.resize(other.by_turn.size());
  for (std::size_t i = 0; i < other.by_turn.size(); ++i) add_turn(by_turn[i], other.by_turn[i]);
  jct_s.insert(jct_s.end(), other.jct_s.begin(), other.jct_s.end());
  for (std::size_t i = 0; i < part_s.size(); ++i) part_s[i] += other.part_s[i];
}

JobDigest digest_jobs(const sweep::Table& jobs, const sweep::Table& turns) {
  JobDigest digest;
  digest.by_turn = by_turn(turns);
  add_parts(digest, jobs, turns);
  return digest;
}

}  // namespace analysis
