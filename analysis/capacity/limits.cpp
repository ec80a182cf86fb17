#include "analysis/capacity/limits.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "analysis/compare/estimate.hpp"
#include "analysis/digest/statistics.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

/// A latency, and where its values are.
struct Latency {
  std::string_view name, table, column, since;  // since: the column of its beginning, if one is
};
constexpr Latency kLatencies[] = {
    {"ttft", "turns", "ttft_s", ""},
    {"tpot", "turns", "tpot_s", ""},
    {"first_token", "jobs", "t_first_token_s", "t_arrive_s"},
    {"queue", "turns", "queue_s", ""},
    {"jct_wall", "jobs", "jct_wall_s", ""},
    {"jct_turns", "jobs", "jct_turns_s", ""},
};
constexpr std::string_view kInteractivity = "interactivity";

/// A figure that is a metric as it is.
struct CellFigure {
  std::string_view name, unit;
  bool is_most = false;  // less is better
};
constexpr CellFigure kFigures[] = {{"output_tok_per_s", "tok/s"},
                                   {"total_tok_s", "tok/s"},
                                   {"prefix_hit_rate", ""},
                                   {"host_hit_rate", ""},
                                   {"preemptions", "", true}};

template <class Row, std::size_t n>
const Row* row_named(const Row (&rows)[n], std::string_view name) {
  const Row* found = std::ranges::find(rows, name, &Row::name);
  return found == std::end(rows) ? nullptr : found;
}

/// A metric taken apart: "ttft_p90".
struct Statistic {
  std::string name;     // "ttft"
  double percent = -1;  // -1: the mean
  std::string text() const {
    if (percent == 100) return name + "_max";
    return name + (percent < 0 ? "_mean" : "_p" + exact_number(percent));
  }
};

std::optional<Statistic> statistic_of(std::string metric) {
  if (metric.ends_with("_s") && row_named(kFigures, metric) == nullptr)
    metric.resize(metric.size() - 2);
  const std::size_t at = metric.rfind('_');
  if (at == std::string::npos) return std::nullopt;
  Statistic found{metric.substr(0, at)};
  const std::string_view what = std::string_view(metric).substr(at + 1);
  if (row_named(kLatencies, found.name) == nullptr && found.name != kInteractivity)
    return std::nullopt;
  if (what == "max") found.percent = 100;
  if (what == "max" || what == "mean") return found;
  const auto percent = what.starts_with('p') ? number_from(what.substr(1)) : std::nullopt;
  if (!percent || !(*percent > 0 && *percent < 100)) return std::nullopt;
  found.percent = *percent;
  return found;
}

template <class Row, std::size_t n>
std::string names_of(const Row (&rows)[n]) {
  std::vector<std::string> names;
  for (const Row& each : rows) names.emplace_back(each.name);
  return sweep::joined(names);
}

std::string known_metrics() {
  return "NAME_p90 (any percentile), NAME_mean or NAME_max of " + names_of(kLatencies) + ", " +
         std::string(kInteractivity) + "; or " + names_of(kFigures);
}

std::string without_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

Limit limit_of(const std::string& text) {
  const std::size_t at = text.find('=');
  const auto number =
      at == std::string::npos ? std::nullopt : number_from(without_blanks(text.substr(at + 1)));
  Limit limit{without_blanks(text.substr(0, at)), number.value_or(sweep::kNotObserved)};
  const CellFigure* figure = row_named(kFigures, limit.metric);
  const bool is_count = figure != nullptr && figure->is_most;  // none at all is a limit, too
  if (!(limit.value > 0 || (is_count && limit.value == 0)) || std::isinf(limit.value))
    throw std::invalid_argument('"' + text + "\" is no limit: METRIC=NUMBER, as ttft_p90=2");
  const auto statistic = statistic_of(limit.metric);
  if (!statistic && figure == nullptr)
    throw std::invalid_argument(
        (direction_of(limit.metric) == Direction::neither
             ? limit.metric + " has no direction: neither more nor less of it is better"
             : "an SLO has no metric " + limit.metric) +
        "; limits are of " + known_metrics());
  if (statistic) limit.metric = statistic->text();  // one spelling of "ttft_p90_s"
  limit.is_most = figure != nullptr ? figure->is_most : statistic->name != kInteractivity;
  return limit;
}

}  // namespace

std::string with_unit(const std::string& number, const std::string& metric) {
  std::string_view unit = "s";
  if (const CellFigure* figure = row_named(kFigures, metric)) {
    unit = figure->unit;
  } else if (metric.starts_with(kInteractivity)) {
    unit = "tok/s";
  }
  return unit.empty() ? number : number + ' ' + std::string(unit);
}

std::string Limit::text() const {
  return metric + (is_most ? " <= " : " >= ") + with_unit(exact_number(value), metric);
}

std::vector<Limit> parse_limits(const std::string& text) {
  std::vector<Limit> limits;
  for (const std::string& each : sweep::split(text + ',', ",")) {
    limits.push_back(limit_of(each));
    if (std::ranges::count(limits, limits.back().metric, &Limit::metric) > 1)
      throw std::invalid_argument(limits.back().metric + " has two limits");
  }
  return limits;
}

const std::vector<double>& CellMetrics::values(const std::string& name) {
  const auto [at, is_new] = values_.try_emplace(name);
  if (!is_new) return at->second;
  const Latency& latency = *row_named(kLatencies, name);
  const sweep::Table table = archive_.load_table(cell_.index, latency.table);
  std::vector<double> seconds = table.values<double>(std::string(latency.column));
  if (!latency.since.empty())
    std::ranges::transform(seconds, table.values<double>(std::string(latency.since)),
                           seconds.begin(), std::minus());
  at->second = observed(seconds);
  return at->second;
}

double CellMetrics::operator()(const std::string& metric) {
  const auto statistic = statistic_of(metric);
  if (!statistic) {
    const sweep::Figure* figure = sweep::find_named(cell_.figures, metric);
    return figure == nullptr ? sweep::kNotObserved : figure->value;
  }
  const bool is_speed = statistic->name == kInteractivity;
  const std::vector<double>& seconds = values(is_speed ? "tpot" : statistic->name);
  const double value =
      statistic->percent < 0 ? mean(seconds) : percentile(seconds, statistic->percent);
  return is_speed ? 1 / value : value;
}

}  // namespace analysis
