#include "analysis/cell/conduct.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "analysis/cell/digest.hpp"
#include "analysis/cell/statistics.hpp"
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
  PinCounter(const sweep::Table& turns, Conduct& conduct)
      : arrivals_(arrivals_by_job(turns)), conduct_(conduct) {}

  void begin(int job, double time_s) {
    end(job, time_s);
    ++conduct_.pins;
    begun_s_[job] = time_s;
  }

  void end(int job, double time_s) {
    const auto pin = begun_s_.find(job);
    if (pin == begun_s_.end()) return;
    const std::vector<double>& own = arrivals_[job];
    const auto next = std::ranges::upper_bound(own, pin->second);
    conduct_.pins_used += next != own.end() && *next <= time_s ? 1 : 0;
    begun_s_.erase(pin);
  }

 private:
  ArrivalsByJob arrivals_;
  Conduct& conduct_;
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

constexpr std::size_t kJct = static_cast<std::size_t>(Latency::jct);

[[noreturn]] void refuse_goal(const std::string& found) {
  throw std::invalid_argument(
      "\"" + found +
      "\" is no objective: write NAME=SECONDS of jct, ttft, tpot and queue, "
      "as in ttft=2,tpot=0.05");
}

void read_goal(const std::string& word, ServiceGoals& goals) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) refuse_goal(word);
  const auto* name = std::ranges::find(kLatencyNames, word.substr(0, equals));
  double seconds = 0;
  const char *begin = word.data() + equals + 1, *end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(begin, end, seconds);
  if (name == kLatencyNames.end() || error != std::errc() || stop != end || !(seconds > 0))
    refuse_goal(word);
  goals.most_s[static_cast<std::size_t>(name - kLatencyNames.begin())] = seconds;
}

std::array<double, 3> percentiles_of(const std::vector<double>& values) {
  const std::vector<double> known = observed(values);
  std::array<double, 3> found{};
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = known.empty() ? sweep::kNotObserved : percentile(known, kLatencyPercents[i]);
  return found;
}

std::unordered_map<int, double> completion_by_job(const sweep::Table& jobs) {
  const std::vector<double> number = numbers_of(jobs, "job"), jct = numbers_of(jobs, "jct_wall_s");
  std::unordered_map<int, double> times;
  for (std::size_t i = 0; i < number.size(); ++i) times[static_cast<int>(number[i])] = jct[i];
  return times;
}

}  // namespace

Conduct conduct_of(const sweep::Table& turns, const sweep::Table& kv_events) {
  Conduct conduct;
  conduct.overtaking = overtaking_share(turns);
  PinCounter pins(turns, conduct);
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
    if (kind == sweep::KvEventKind::evict_gpu) conduct.evicted_blocks += count;
    if (kind == sweep::KvEventKind::evict_host && is_unread) conduct.host_evicted_blocks += count;
    if (kind == sweep::KvEventKind::prefetch) ++conduct.prefetches;
  }
  return conduct;
}

std::string ServiceGoals::text() const {
  std::string text;
  for (std::size_t i = 0; i < most_s.size(); ++i) {
    if (std::isinf(most_s[i])) continue;
    std::string number = std::to_string(most_s[i]);
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    text += (text.empty() ? "" : ", ") + std::string(kLatencyNames[i]) + " <= " + number + " s";
  }
  return text;
}

ServiceGoals parse_goals(const std::string& text) {
  ServiceGoals goals;
  goals.most_s.fill(ServiceGoals::kNone);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    read_goal(text.substr(at, end - at), goals);
    at = end + 1;
  }
  return goals;
}

Service service_of(const sweep::Table& jobs, const sweep::Table& turns, const ServiceGoals& goals) {
  const std::array<std::vector<double>, 4> latencies = {
      numbers_of(jobs, "jct_wall_s"), numbers_of(turns, "ttft_s"), numbers_of(turns, "tpot_s"),
      numbers_of(turns, "queue_s")};
  const std::vector<double> job = numbers_of(turns, "job"), end = numbers_of(turns, "t_finish_s");
  const std::unordered_map<int, double> jct = completion_by_job(jobs);
  Service service;
  for (std::size_t i = 0; i < latencies.size(); ++i)
    service.percentiles_s[i] = percentiles_of(latencies[i]);
  double met = 0, makespan_s = 0;
  for (std::size_t row = 0; row < job.size(); ++row) {
    const auto own = jct.find(static_cast<int>(job[row]));
    bool is_met = !std::isnan(end[row]) && own != jct.end() &&
                  (std::isinf(goals.most_s[kJct]) || own->second <= goals.most_s[kJct]);
    for (std::size_t i = kJct + 1; i < latencies.size(); ++i)
      is_met = is_met && !(latencies[i][row] > goals.most_s[i]);
    met += is_met ? 1 : 0;
    if (!std::isnan(end[row])) makespan_s = std::max(makespan_s, end[row]);
  }
  service.attained = job.empty() ? sweep::kNotObserved : met / static_cast<double>(job.size());
  service.goodput_per_s = makespan_s > 0 ? met / makespan_s : sweep::kNotObserved;
  return service;
}

}  // namespace analysis
