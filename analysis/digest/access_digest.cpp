#include "analysis/digest/access_digest.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "sweeps/tables/schema.hpp"

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

/// The columns of /kv_access, without copies: a log may have 20 million rows.
class Log {
 public:
  explicit Log(const sweep::Table& table)
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

  double end(std::size_t row) const { return start[row] + duration[row]; }

  /// The rows of a layer, in order of time.
  Rows of_layer(int which) const {
    Rows rows;
    for (std::size_t i = 0; i < step.size(); ++i)
      if (layer[i] == which) rows.push_back(i);
    const auto by_time = [&](std::size_t a, std::size_t b) { return start[a] < start[b]; };
    if (!std::is_sorted(rows.begin(), rows.end(), by_time))
      std::stable_sort(rows.begin(), rows.end(), by_time);
    return rows;
  }

  const std::vector<std::int64_t>& step;
  const std::vector<std::int32_t>& layer;
  const std::vector<std::int8_t>& kind;
  const std::vector<std::int32_t>&block, &first_slot, &n_slots, &batch_row, &kv_head;
  const std::vector<double>&start, &duration;
};

/// The job of each row of a step's batch.
class Served {
 public:
  explicit Served(const sweep::Table& rows) {
    const auto& step = rows.values<std::int64_t>("step");
    const auto& row = rows.values<std::int32_t>("batch_row");
    const auto& job = rows.values<std::int32_t>("job");
    for (std::size_t i = 0; i < step.size(); ++i) jobs_[{step[i], row[i]}] = job[i];
  }
  int job(std::int64_t step, int row) const {
    const auto found = jobs_.find({step, row});
    return found == jobs_.end() ? -1 : found->second;
  }

 private:
  std::map<std::pair<std::int64_t, int>, int> jobs_;
};

std::vector<std::int64_t> first_steps(const Log& log, const Rows& rows, std::size_t most) {
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
void find_cuts(AccessDigest& digest, const Log& log, const Rows& rows) {
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

void add_marks(AccessDigest& digest, const Log& log, const Rows& rows, const Served& served,
               std::size_t most) {
  const double begin = log.start[rows.front()];
  for (const std::size_t row : thinned(rows, most)) {
    digest.marks.push_back({to_ns(log.start[row] - begin), to_ns(log.duration[row]), log.step[row],
                            log.kind[row], log.block[row], log.first_slot[row], log.n_slots[row],
                            log.kv_head[row], served.job(log.step[row], log.batch_row[row])});
  }
}

/// Use of a block's keys or values, updated access by access.
struct Use {
  double until, idle = 0;

  void pause(double start) { idle += std::max(0.0, start - until); }
};

}  // namespace

AccessDigest digest_accesses(const sweep::Table& accesses, const sweep::Table& rows,
                             const AccessLimits& limits) {
  const Log log(accesses);
  AccessDigest digest;
  digest.records = static_cast<std::int64_t>(log.step.size());
  if (log.step.empty()) return digest;
  digest.layer = *std::ranges::min_element(log.layer);
  Rows own = log.of_layer(digest.layer);
  digest.steps = first_steps(log, own, limits.steps);
  std::erase_if(own, [&](std::size_t row) {
    return !std::ranges::binary_search(digest.steps, log.step[row]);
  });
  digest.in_steps = static_cast<std::int64_t>(own.size());
  find_cuts(digest, log, own);
  add_marks(digest, log, own, Served(rows), limits.marks);
  return digest;
}

std::vector<double> idle_shares(const sweep::Table& accesses) {
  const Log log(accesses);
  if (log.step.empty()) return {};
  const Rows rows = log.of_layer(*std::ranges::min_element(log.layer));
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
