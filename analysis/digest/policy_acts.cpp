#include "analysis/digest/policy_acts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "analysis/digest/digest.hpp"
#include "sweeps/tables/result.hpp"
#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

/// Arrivals of each job's turns, ascending.
using ArrivalsByJob = std::unordered_map<int, std::vector<double>>;

ArrivalsByJob arrivals_by_job(const sweep::Table& turns) {
  const std::vector<double> job = numbers_of(turns, "job"),
                            arrive = numbers_of(turns, "t_arrive_s");
  ArrivalsByJob arrivals;
  for (std::size_t i = 0; i < job.size(); ++i)
    if (!std::isnan(arrive[i])) arrivals[static_cast<int>(job[i])].push_back(arrive[i]);
  for (auto& [_, own] : arrivals) std::ranges::sort(own);
  return arrivals;
}

/// Follows the pin of each job from its beginning to its end.
class PinCounter {
 public:
  PinCounter(const sweep::Table& turns, PolicyActs& acts)
      : arrivals_(arrivals_by_job(turns)), acts_(acts) {}

  void begin(int job, double time_s) {
    end(job, time_s);
    ++acts_.pins;
    begun_s_[job] = time_s;
  }

  void end(int job, double time_s) {
    const auto pin = begun_s_.find(job);
    if (pin == begun_s_.end()) return;
    const std::vector<double>& own = arrivals_[job];
    const auto next = std::ranges::upper_bound(own, pin->second);
    acts_.pins_used += next != own.end() && *next <= time_s ? 1 : 0;
    begun_s_.erase(pin);
  }

 private:
  ArrivalsByJob arrivals_;
  PolicyActs& acts_;
  std::unordered_map<int, double> begun_s_;
};

double overtaking_share(const sweep::Table& turns) {
  const std::vector<double> arrive = numbers_of(turns, "t_arrive_s"),
                            admit = numbers_of(turns, "t_admit_s");
  std::vector<std::size_t> order(arrive.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order,
                [&](std::size_t i) { return std::isnan(arrive[i]) || std::isnan(admit[i]); });
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(arrive[i], admit[i]); });
  double overtakes = 0, latest_s = 0;
  for (const std::size_t i : order) {
    overtakes += latest_s > admit[i] ? 1 : 0;
    latest_s = std::max(latest_s, admit[i]);
  }
  return order.empty() ? sweep::kNotObserved : overtakes / static_cast<double>(order.size());
}

}  // namespace

PolicyActs acts_of(const sweep::Table& turns, const sweep::Table& kv_events) {
  PolicyActs acts;
  acts.overtaking = overtaking_share(turns);
  PinCounter pins(turns, acts);
  const std::vector<double> job = numbers_of(kv_events, "job"), time = numbers_of(kv_events, "t_s"),
                            blocks = numbers_of(kv_events, "blocks");
  const auto &kinds = kv_events.values<std::int8_t>("kind"),
             &reasons = kv_events.values<std::int8_t>("reason");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<sweep::KvEventKind>(kinds[i]);
    const bool is_unread = reasons[i] == static_cast<std::int8_t>(sweep::KvEventReason::unread);
    const auto count = static_cast<std::int64_t>(blocks[i]);
    if (kind == sweep::KvEventKind::pin) pins.begin(static_cast<int>(job[i]), time[i]);
    if (kind == sweep::KvEventKind::unpin) pins.end(static_cast<int>(job[i]), time[i]);
    if (kind == sweep::KvEventKind::evict_gpu) acts.evicted_blocks += count;
    if (kind == sweep::KvEventKind::evict_host && is_unread) acts.host_evicted_blocks += count;
    if (kind == sweep::KvEventKind::prefetch) ++acts.prefetches;
  }
  return acts;
}

}  // namespace analysis
