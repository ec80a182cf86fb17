#include "analysis/digest/service.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "analysis/digest/digest.hpp"
#include "analysis/digest/statistics.hpp"
#include "sweeps/tables/result.hpp"

namespace analysis {
namespace {

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
