#include "analysis/digest/access_digest.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "sweeps/tables/schema.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using Rows = std::vector<std::size_t>;

constexpr double kCutAbove = 0.5;  // as a share of the time with accesses
constexpr unsigned kSeed = 42;

std::int64_t to_ns(double seconds) { return std::llround(seconds * 1e9); }

bool is_of_keys(int kind) {
  return kind == static_cast<int>(sweep::KvAccessKind::read_key) ||
         kind == static_cast<int>(sweep::KvAccessKind::write_key);
}

/// The rows of the first logged layer, in order of time.
Rows first_layer(const AccessLog& log) {
  const int first = *std::ranges::min_element(log.layer);
  Rows rows;
  for (std::size_t i = 0; i < log.layer.size(); ++i)
    if (log.layer[i] == first) rows.push_back(i);
  const auto time = [&](std::size_t row) { return log.start[row]; };
  if (!std::ranges::is_sorted(rows, {}, time)) std::ranges::stable_sort(rows, {}, time);
  return rows;
}

std::vector<std::int64_t> first_steps(const AccessLog& log, const Rows& rows, std::size_t most) {
  std::set<std::int64_t> steps;
  for (const std::size_t row : rows) {
    if (steps.contains(log.step[row])) continue;
    steps.insert(log.step[row]);
    if (steps.size() > most) steps.erase(std::prev(steps.end()));
  }
  return {steps.begin(), steps.end()};
}

/// At most `most` rows, one picked at random from each group of consecutive rows. Taking every n-th
/// row would always pick the same head or request.
Rows thinned(const Rows& rows, std::size_t most) {
  const std::size_t every = (rows.size() + most - 1) / most;
  if (every <= 1) return rows;
  std::mt19937 random(kSeed);
  Rows some;
  for (std::size_t from = 0; from < rows.size(); from += every)
    some.push_back(rows[from + random() % std::min(every, rows.size() - from)]);
  return some;
}

/// Finds pauses that are longer than half of the time outside pauses.
void find_cuts(AccessDigest& digest, const AccessLog& log, const Rows& rows) {
  const double begin = log.start[rows.front()];
  std::vector<std::pair<double, double>> pauses;  // from, how long
  double until = log.end(rows.front()), paused = 0;
  for (const std::size_t row : rows) {
    if (const double pause = log.start[row] - until; pause > 0) {
      pauses.emplace_back(until, pause);
      paused += pause;
    }
    until = std::max(until, log.end(row));
  }
  const double limit = kCutAbove * (until - begin - paused);
  digest.kept_pause_ns = to_ns(limit);
  for (const auto& [from, pause] : pauses)
    if (pause > limit) digest.cuts.push_back({to_ns(from - begin), to_ns(pause - limit)});
}

/// `served` are the rows of the steps' batches.
void add_marks(AccessDigest& digest, const AccessLog& log, const Rows& rows,
               const sweep::Table& served, std::size_t most) {
  std::map<std::pair<std::int64_t, int>, int> jobs;
  for (sweep::TableRow row{served, 0}; row.row < served.rows(); ++row.row)
    jobs[{row.at<std::int64_t>("step"), row.count("batch_row")}] = row.count("job");
  const double begin = log.start[rows.front()];
  for (const std::size_t row : thinned(rows, most)) {
    const auto job = jobs.find({log.step[row], log.batch_row[row]});
    digest.marks.push_back({to_ns(log.start[row] - begin), to_ns(log.duration[row]), log.step[row],
                            log.kind[row], log.block[row], log.first_slot[row], log.n_slots[row],
                            log.kv_head[row], job == jobs.end() ? -1 : job->second});
  }
}

/// Use of a block's keys or values, updated access by access.
struct Use {
  double until, idle = 0;

  void pause(double start) { idle += std::max(0.0, start - until); }
};

}  // namespace

AccessLog::AccessLog(const sweep::Table& table)
    : step(table.values<std::int64_t>("step")),
      layer(table.values<std::int32_t>("layer")),
      kind(table.values<std::int8_t>("kind")),
      block(table.values<std::int32_t>("block")),
      first_slot(table.values<std::int32_t>("first_slot")),
      n_slots(table.values<std::int32_t>("n_slots")),
      batch_row(table.values<std::int32_t>("batch_row")),
      kv_head(table.values<std::int32_t>("kv_head")),
      start(table.values<double>("t_s")),
      duration(table.values<double>("dur_s")) {}

AccessDigest digest_accesses(const sweep::Table& accesses, const sweep::Table& rows,
                             const AccessLimits& limits) {
  const AccessLog log(accesses);
  AccessDigest digest;
  digest.records = static_cast<std::int64_t>(log.step.size());
  if (log.step.empty()) return digest;
  Rows own = first_layer(log);
  digest.layer = log.layer[own.front()];
  digest.steps = first_steps(log, own, limits.steps);
  std::erase_if(own, [&](std::size_t row) {
    return !std::ranges::binary_search(digest.steps, log.step[row]);
  });
  digest.in_steps = static_cast<std::int64_t>(own.size());
  find_cuts(digest, log, own);
  add_marks(digest, log, own, rows, limits.marks);
  return digest;
}

std::vector<double> idle_shares(const sweep::Table& accesses) {
  const AccessLog log(accesses);
  if (log.step.empty()) return {};
  const Rows rows = first_layer(log);
  const double first = log.start[rows.front()];
  double last = first;
  std::map<std::pair<bool, int>, Use> uses;  // of keys or values, by block
  for (const std::size_t row : rows) {
    Use& use =
        uses.try_emplace({is_of_keys(log.kind[row]), log.block[row]}, Use{first}).first->second;
    use.pause(log.start[row]);
    use.until = std::max(use.until, log.end(row));
    last = std::max(last, log.end(row));
  }
  std::vector<double> shares;
  for (auto& [of, use] : uses) {
    use.pause(last);
    shares.push_back(last > first ? use.idle / (last - first) : sweep::kNotObserved);
  }
  return shares;
}

}  // namespace analysis
