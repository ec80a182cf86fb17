#include "analysis/capacity/rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "analysis/digest/statistics.hpp"

namespace analysis {
namespace {

const std::string kMakespan = "makespan_s", kEnergy = "gpu_energy_j";

std::string text_on(const sweep::AxisValues& axes, const char* axis) {
  const sweep::Value* value = sweep::value_on(axes, axis);
  return value == nullptr ? "" : sweep::bare_text(*value);
}

/// The number of the cell's seed; -1 if it is none of the search.
int seed_of(const sweep::CellRecord& record, const CapacityRules& rules) {
  if (rules.workload_seeds.empty()) return record.repeat;
  const sweep::Value* seed = sweep::value_on(record.axes, kSeedAxis);
  if (seed == nullptr || record.repeat > 0) return -1;
  for (std::size_t i = 0; i < rules.workload_seeds.size(); ++i)
    if (sweep::same_value(*seed, rules.workload_seeds[i])) return static_cast<int>(i);
  return -1;
}

/// Those that limits are about, and those of the front.
std::set<std::string> metrics_of(const CapacityRules& rules) {
  std::set<std::string> metrics = {kInteractivityP90, kThroughput, kMakespan, kEnergy, "jobs"};
  for (const Slo& slo : rules.slos)
    for (const Limit& limit : slo.limits) metrics.insert(limit.metric);
  return metrics;
}

bool meets(const Slo& slo, const CapacityCell& cell) {
  return std::ranges::all_of(slo.limits, [&](const Limit& limit) {
    return limit.is_met_by(cell.metrics.at(limit.metric));
  });
}

/// Why a cell will not have a result.
std::string problem_of(const sweep::CellRecord& cell) {
  if (cell.status == sweep::CellStatus::planned || cell.status == sweep::CellStatus::ok) return "";
  const std::string why = std::string(sweep::to_text(cell.status)) + ": " + cell.reason;
  return cell.has_run() ? "cell " + std::to_string(cell.index) + ' ' + why : why;
}

/// Why so many jobs were never in progress together; empty if they were.
std::string lack_of_jobs(double live, double jobs) {
  if (!(jobs < live)) return "";
  return four_digits(live) + " agents of " + four_digits(jobs) +
         " jobs are never live together: raise workload.jobs or lower --most";
}

/// The mean of what the cells at the seeds' capacities say; NaN before they are known.
double mean_over(const Capacity& capacity, const std::string& metric) {
  if (!capacity.search.is_over()) return sweep::kNotObserved;
  std::vector<double> values;
  for (std::size_t seed = 0; seed < capacity.search.seeds.size(); ++seed)
    if (const auto load = capacity.search.seeds[seed].most())
      values.push_back(
          capacity.place->cells.at({*load, static_cast<int>(seed)}).metrics.at(metric));
  return mean(observed(values));
}

/// Which limit the first loads that miss the objective break.
void find_binding(const CapacityRules& rules, Capacity& capacity) {
  for (const Limit& limit : capacity.slo->limits) {
    std::vector<double> loads, values;
    for (std::size_t seed = 0; seed < capacity.search.seeds.size(); ++seed) {
      const auto miss = capacity.search.seeds[seed].miss();
      if (!miss) continue;
      const CapacityCell& cell = capacity.place->cells.at({*miss, static_cast<int>(seed)});
      const double value = cell.metrics.at(limit.metric);
      if (limit.is_met_by(value)) continue;
      loads.push_back(rules.search.loads[*miss]);
      values.push_back(value);
    }
    if (loads.size() <= capacity.misses) continue;
    capacity.binds = &limit;
    capacity.misses = loads.size();
    capacity.next = mean(loads);
    capacity.value = mean(values);
  }
}

Capacity capacity_of(const CapacityRules& rules, const CapacityPlace& place, const Slo& slo) {
  Capacity capacity{&place, &slo};
  capacity.search = search_row(rules.search, [&](const Question& question) -> std::optional<bool> {
    const auto cell = place.cells.find(question);
    if (cell == place.cells.end()) return std::nullopt;
    if (!cell->second.metrics.empty()) {
      if (rules.load == "workload.live" && capacity.problem.empty())
        capacity.problem =
            lack_of_jobs(rules.search.loads[question.load], cell->second.metrics.at("jobs"));
      return meets(slo, cell->second);
    }
    if (capacity.problem.empty()) capacity.problem = problem_of(*cell->second.record);
    return std::nullopt;
  });
  if (!capacity.search.is_over()) return capacity;
  capacity.load = mean_of(capacity.search.capacities(rules.search));
  find_binding(rules, capacity);
  return capacity;
}

/// "2.661 s at 88 (3 of 3)"
std::string next_step(const Capacity& capacity) {
  if (capacity.binds == nullptr) return "-";
  return with_unit(four_digits(capacity.value), capacity.binds->metric) + " at " +
         four_digits(capacity.next) + " (" + std::to_string(capacity.misses) + " of " +
         std::to_string(capacity.search.seeds.size()) + ")";
}

/// The axes of all places, in their order.
std::vector<std::string> axes_of(const std::vector<Capacity>& capacities) {
  std::vector<std::string> axes;
  for (const Capacity& each : capacities)
    for (const auto& [axis, value] : each.place->axes)
      if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  return axes;
}

}  // namespace

std::vector<CapacityPlace> capacity_places(const CapacityRules& rules,
                                           const std::vector<sweep::CellRecord>& records,
                                           sweep::ArchiveReader* archive, KnownMetrics& known) {
  const std::set<std::string> wanted = metrics_of(rules);
  std::vector<CapacityPlace> places;
  std::map<std::string, std::size_t> place_of;
  for (const sweep::CellRecord& record : records) {
    const sweep::Value* load = sweep::value_on(record.axes, rules.load);
    if (load == nullptr || record.kept) continue;
    const auto number = std::ranges::find(rules.search.loads, number_of(*load));
    const int seed = seed_of(record, rules);
    if (number == rules.search.loads.end() || seed < 0) continue;
    sweep::AxisValues axes = record.axes;
    std::erase_if(axes, [&](const auto& axis) { return rules.is_own(axis.first); });
    const auto [at, is_new] = place_of.try_emplace(rules.place_name(axes), places.size());
    if (is_new)
      places.push_back({at->first, axes, text_on(axes, "gpu"), text_on(axes, "policy"), {}});
    CapacityCell cell{&record, {}};
    if (record.has_result(sweep::RecordLevel::jobs) && archive != nullptr) {
      const auto [metrics, is_unread] = known.try_emplace(record.key);
      CellMetrics values(*archive, record);
      if (is_unread)
        for (const std::string& each : wanted) metrics->second[each] = values(each);
      cell.metrics = metrics->second;
    }
    const auto load_number = static_cast<std::size_t>(number - rules.search.loads.begin());
    places[at->second].cells.emplace(Question{load_number, seed}, std::move(cell));
  }
  return places;
}

std::string estimate_text(const Estimate& estimate) {
  std::string text = four_digits(estimate.value);
  if (!std::isnan(estimate.interval.low))
    text += " (" + four_digits(std::max(0.0, estimate.interval.low)) + " to " +
            four_digits(estimate.interval.high) + ")";
  return text;
}

std::string Capacity::verdict(const CapacityRules& rules) const {
  if (!problem.empty()) return problem;
  if (!search.is_over()) return "undecided";
  const std::vector<double>& loads = rules.search.loads;
  if (search.is_cut_off(rules.search))
    return "at least " + four_digits(load.value) + "; raise --most";
  if (search.none_meets() && binds != nullptr) {
    const std::string least = loads.front() == 1 && rules.load == "workload.live"
                                  ? "one agent"
                                  : four_digits(loads.front()) + ' ' + rules.unit();
    return "even " + least + (least == "one agent" ? " misses " : " miss ") + binds->metric + ": " +
           with_unit(four_digits(value), binds->metric);
  }
  return "";
}

std::string Capacity::not_monotone(const CapacityRules& rules) const {
  std::vector<std::string> texts;
  for (std::size_t seed = 0; seed < search.seeds.size(); ++seed) {
    const std::vector<std::size_t> above = search.seeds[seed].above();
    if (above.empty()) continue;
    std::vector<std::string> loads;
    for (const std::size_t each : above) loads.push_back(four_digits(rules.search.loads[each]));
    const auto number =
        rules.workload_seeds.empty() ? static_cast<std::int64_t>(seed) : rules.workload_seeds[seed];
    texts.push_back("seed " + std::to_string(number) + " misses at " +
                    four_digits(rules.search.loads[*search.seeds[seed].miss()]) +
                    " and meets again at " + sweep::joined(loads));
  }
  return texts.empty() ? "" : "not monotone: " + sweep::joined(texts, "; ");
}

std::vector<Capacity> capacities_of(const CapacityRules& rules,
                                    const std::vector<CapacityPlace>& places) {
  std::vector<Capacity> capacities;
  for (const Slo& slo : rules.slos)
    for (const CapacityPlace& place : places) capacities.push_back(capacity_of(rules, place, slo));
  return capacities;
}

namespace {

/// The capacity of the policy over that of fcfs at the same place; "-" without it.
std::string over_fcfs(const CapacityRules& rules, const Capacity& capacity,
                      const std::vector<Capacity>& all) {
  const auto others = [&](const Capacity& each) {
    sweep::AxisValues axes = each.place->axes;
    std::erase_if(
        axes, [](const auto& axis) { return axis.first == "policy" || axis.first == "dram_gib"; });
    return rules.place_name(axes);
  };
  for (const Capacity& base : all)
    if (base.slo == capacity.slo && base.place->policy == "fcfs" && &base != &capacity &&
        others(base) == others(capacity) && base.verdict(rules).empty() &&
        capacity.verdict(rules).empty())
      return estimate_text(
          ratio_of(capacity.search.capacities(rules.search), base.search.capacities(rules.search)));
  return "-";
}

/// Columns of a grid with a row for each capacity.
struct Columns {
  const std::vector<Capacity>& capacities;
  Grid grid{{}, std::vector<std::vector<std::string>>(capacities.size())};

  void add(Grid::Column column, auto text_of) {
    grid.columns.push_back(std::move(column));
    for (std::size_t i = 0; i < capacities.size(); ++i)
      grid.rows[i].push_back(text_of(capacities[i]));
  }
  void text(const std::string& name, auto text_of) { add({name, "", false}, text_of); }
  void number(const std::string& name, const std::string& unit, auto number_of) {
    add({name, unit}, [&](const Capacity& at) { return four_digits(std::invoke(number_of, at)); });
  }
};

double tokens_per_s(const Capacity& at) { return mean_over(at, kThroughput); }

/// What a token costs, as far as prices and watts are known.
void add_costs(const CapacityRules& rules, Columns& columns) {
  const auto watts = [&](const Capacity& at) { return known(rules.watts, at.place->gpu); };
  if (!rules.price_per_hour.empty())
    columns.number("price", "$ per million tokens", [&](const Capacity& at) {
      return known(rules.price_per_hour, at.place->gpu) / 3600 / tokens_per_s(at) * 1e6;
    });
  if (rules.watts.empty()) return;
  columns.number("energy", "J/token", [&](const Capacity& at) {
    const double measured = mean_over(at, kEnergy) / mean_over(at, kMakespan);  // by NVML
    return (std::isnan(measured) ? watts(at) : measured) / tokens_per_s(at);
  });
  columns.add({"density", rules.unit() + " per MW"}, [&](const Capacity& at) {
    const bool is_least = at.has_answer() && at.search.is_cut_off(rules.search);
    return (is_least ? "at least " : "") + four_digits(at.load.value / watts(at) * 1e6);
  });
}

}  // namespace

Grid capacity_grid(const CapacityRules& rules, const std::vector<Capacity>& capacities) {
  Columns columns{capacities};
  if (rules.slos.size() > 1) columns.text("SLO", [](const Capacity& at) { return at.slo->name; });
  for (const std::string& axis : axes_of(capacities))
    columns.text(axis, [&](const Capacity& at) {
      const sweep::Value* value = sweep::value_on(at.place->axes, axis);
      return value == nullptr ? "-" : value_text(*value);
    });
  columns.add({"capacity", rules.unit() + " per GPU", false}, [&](const Capacity& at) {
    const std::string verdict = at.verdict(rules);
    return verdict.empty() ? estimate_text(at.load) : verdict;
  });
  columns.text("of fcfs", [&](const Capacity& at) { return over_fcfs(rules, at, capacities); });
  columns.number("seeds", "",
                 [](const Capacity& at) { return static_cast<double>(at.search.seeds.size()); });
  columns.text("binds",
               [](const Capacity& at) { return at.binds == nullptr ? "-" : at.binds->text(); });
  columns.text("the next step breaks", next_step);
  columns.number("interactivity p90", "tok/s",
                 [](const Capacity& at) { return mean_over(at, kInteractivityP90); });
  columns.number("output", "tok/s per GPU", tokens_per_s);
  add_costs(rules, columns);
  return std::move(columns.grid);
}

}  // namespace analysis
