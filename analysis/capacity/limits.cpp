#include "analysis/capacity/limits.hpp"

#include <cmath>

#include "analysis/compare/estimate.hpp"
#include "analysis/digest/statistics.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

/// The subject of a limit: a statistic over rows of a table, or, without one, a figure of the cell.
struct Quantity {
  std::string_view name, unit = "s", table = "", column = "", since = "";  // since: its beginning
  bool is_most = true;                                                     // less is better
};
const std::vector<Quantity> kQuantities = {
    {"ttft", "s", "turns", "ttft_s"},
    {"tpot", "s", "turns", "tpot_s"},
    {"first_token", "s", "jobs", "t_first_token_s", "t_arrive_s"},
    {"queue", "s", "turns", "queue_s"},
    {"jct_wall", "s", "jobs", "jct_wall_s"},
    {"jct_turns", "s", "jobs", "jct_turns_s"},
    {"interactivity", "tok/s", "turns", "tpot_s", "", false},  // the inverse
    {"output_tok_per_s", "tok/s", "", "", "", false},
    {"total_tok_s", "tok/s", "", "", "", false},
    {"prefix_hit_rate", "", "", "", "", false},
    {"host_hit_rate", "", "", "", "", false},
    {"preemptions", ""}};

/// A metric taken apart: "ttft_p90".
struct Metric {
  const Quantity* of;   // "ttft"
  double percent = -1;  // -1: the mean
  bool is_figure() const { return of->table.empty(); }
  std::string text() const {
    const std::string name(of->name);
    if (is_figure()) return name;
    if (percent == 100) return name + "_max";
    return name + (percent < 0 ? "_mean" : "_p" + exact_number(percent));
  }
};

/// None where no limit can be of it.
std::optional<Metric> metric_of(std::string text) {
  Metric found{sweep::find_named(kQuantities, text)};
  if (found.of != nullptr) return found.is_figure() ? std::optional(found) : std::nullopt;
  if (text.ends_with("_s")) text.resize(text.size() - 2);
  const std::size_t at = text.rfind('_');
  if (at == std::string::npos) return std::nullopt;
  found.of = sweep::find_named(kQuantities, text.substr(0, at));
  if (found.of == nullptr || found.is_figure()) return std::nullopt;
  const std::string_view what = std::string_view(text).substr(at + 1);
  if (what == "max") found.percent = 100;
  if (what == "max" || what == "mean") return found;
  const auto percent = what.starts_with('p') ? number_from(what.substr(1)) : std::nullopt;
  if (!percent || !(*percent > 0 && *percent < 100)) return std::nullopt;
  found.percent = *percent;
  return found;
}

std::string known_metrics() {
  std::vector<std::string> statistics, figures;
  for (const Quantity& each : kQuantities)
    (each.table.empty() ? figures : statistics).emplace_back(each.name);
  return "NAME_p90 (any percentile), NAME_mean or NAME_max of " + sweep::joined(statistics) +
         "; or " + sweep::joined(figures);
}

/// Why no limit can be of it.
std::string no_metric(const std::string& name) {
  const std::string statistic = name.substr(std::min(name.rfind('_'), name.size()));
  std::vector<std::string> known;
  for (const Quantity& each : kQuantities) {
    const Metric metric{&each, 90};
    known.push_back(metric.text());
    if (metric.is_figure()) continue;
    // With the statistic that was asked for, such as "_p99".
    const std::string own = std::string(each.name) + statistic;
    if (metric_of(own)) known.push_back(own);
  }
  const std::string near = sweep::suggestion(name, known);
  return (near.empty() && direction_of(name) == Direction::neither
              ? name + " has no direction: neither more nor less of it is better"
              : "an SLO has no metric " + name + near) +
         "; limits are of " + known_metrics();
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
  const auto metric = metric_of(limit.metric);
  // None at all is a limit, too.
  const bool is_count = metric && metric->is_figure() && metric->of->is_most;
  if (!(limit.value > 0 || (is_count && limit.value == 0)) || std::isinf(limit.value))
    throw std::invalid_argument('"' + text +
                                "\" is no limit: METRIC=NUMBER, as ttft_p90=2, the number " +
                                (is_count ? "0 or more" : "above 0"));
  if (!metric) throw std::invalid_argument(no_metric(limit.metric));
  limit.metric = metric->text();  // one spelling of "ttft_p90_s"
  limit.is_most = metric->of->is_most;
  return limit;
}

}  // namespace

std::string Limit::unit() const { return std::string(metric_of(metric)->of->unit); }

std::string Limit::with_unit(const std::string& number) const {
  return unit().empty() ? number : number + ' ' + unit();
}

std::string Limit::text() const {
  return metric + (is_most ? " <= " : " >= ") + with_unit(exact_number(value));
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

double CellMetrics::operator()(const std::string& name) {
  const auto metric = metric_of(name);
  if (!metric || metric->is_figure()) {
    const sweep::Figure* figure = sweep::find_named(cell_.figures, name);
    return figure == nullptr ? sweep::kNotObserved : figure->value;
  }
  const Quantity& of = *metric->of;
  const auto [at, is_new] = values_.try_emplace(std::string(of.column));
  std::vector<double>& seconds = at->second;
  if (is_new) {
    const sweep::Table table = load_(of.table);
    seconds = table.values<double>(at->first);
    if (!of.since.empty())
      std::ranges::transform(seconds, table.values<double>(std::string(of.since)), seconds.begin(),
                             std::minus());
    seconds = observed(seconds);
  }
  const double value = metric->percent < 0 ? mean(seconds) : percentile(seconds, metric->percent);
  return of.is_most ? value : 1 / value;
}

}  // namespace analysis
