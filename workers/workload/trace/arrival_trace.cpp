#include <algorithm>
#include <cmath>
#include <string_view>

#include "sweeps/text/input_text.hpp"
#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/trace/read_trace.hpp"

namespace workload {
namespace {

using engine::Nanos;

constexpr double kLatestArrival_s = 1e9;  // well below 2^63 ns

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

Nanos time_in(std::string_view text, const InputPlace& place) {
  constexpr std::size_t kShown = 60;
  const auto t_s = sweep::number_from(text);
  if (!t_s || !(*t_s >= 0 && *t_s <= kLatestArrival_s))
    refuse(place, "found '" + std::string(text.substr(0, kShown)) +
                      (text.size() > kShown ? "...'" : "'") +
                      ", allowed a time from 0 to 1e9 seconds after the start, or a trace "
                      "(docs/traces.md)");
  return engine::from_seconds(*t_s);
}

std::vector<Nanos> listed_times(const std::string& path) {
  LineReader lines(path);
  std::vector<Nanos> arrivals;
  while (const auto line = lines.next()) {
    const std::string_view text = trimmed(*line);
    if (text.starts_with('#')) continue;
    const Nanos t = time_in(text, lines.place());
    if (!arrivals.empty() && t < arrivals.back())
      refuse(lines.place(), "found " + std::to_string(engine::to_seconds(t)) + " s after " +
                                std::to_string(engine::to_seconds(arrivals.back())) +
                                " s, allowed times that never decrease");
    arrivals.push_back(t);
  }
  if (arrivals.empty()) refuse({path, 0}, "found no arrivals, allowed at least one");
  return arrivals;
}

std::vector<Nanos> arrivals_of_jobs(const std::string& path) {
  std::vector<Nanos> arrivals;
  for (const TraceSession& session : read_trace(path).sessions) {
    if (std::isnan(session.arrival_s))
      refuse({path, 0}, "job \"" + session.id +
                            "\" has no arrival_s; allowed: traces that say when each job begins");
    arrivals.push_back(engine::from_seconds(session.arrival_s));
  }
  std::ranges::sort(arrivals);
  return arrivals;
}

}  // namespace

std::vector<Nanos> trace_arrivals(const std::string& path) {
  return sweep::or_no_memory<engine::InputError>(path, [&] {
    const bool times = !LineReader(path).next().value_or("").starts_with('{');
    return times ? listed_times(path) : arrivals_of_jobs(path);
  });
}

}  // namespace workload
