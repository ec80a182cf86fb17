#include "analysis/capacity/rows.hpp"

#include <cmath>

#include "analysis/text/list.hpp"

namespace analysis {
namespace {

const std::string kMakespan = "makespan_s", kEnergy = "gpu_energy_j";  // by NVML

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

/// The metrics of limits, and of the front.
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
  if (!capacity.is_below_least(rules))
    capacity.load = mean_of(capacity.search.capacities(rules.search));
  find_binding(rules, capacity);
  return capacity;
}

}  // namespace

double CapacityCell::measured_watts() const {
  return metrics.empty() ? sweep::kNotObserved : metrics.at(kEnergy) / metrics.at(kMakespan);
}

double CapacityCell::measured_j_per_token() const {
  return metrics.empty() ? sweep::kNotObserved : measured_watts() / metrics.at(kThroughput);
}

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

std::string lack_of_jobs(double live, double jobs) {
  if (!(jobs < live)) return "";
  return four_digits(live) + " agents of " + four_digits(jobs) +
         " jobs are never live together: raise workload.jobs or lower --most";
}

std::string estimate_text(const Estimate& estimate) {
  std::string text = four_digits(estimate.value);
  if (!std::isnan(estimate.interval.low))
    text += " (" + four_digits(std::max(0.0, estimate.interval.low)) + " to " +
            four_digits(estimate.interval.high) + ")";
  return text;
}

bool Capacity::is_below_least(const CapacityRules& rules) const {
  return has_answer() && !rules.begins_at_one_agent() &&
         std::ranges::any_of(search.seeds, [](const SeedAnswers& each) { return !each.most(); });
}

std::string Capacity::verdict(const CapacityRules& rules) const {
  if (!problem.empty()) return problem;
  if (!search.is_over()) return "undecided";
  const std::vector<double>& loads = rules.search.loads;
  const bool is_below = is_below_least(rules);
  if (search.is_cut_off(rules.search) && !is_below)
    return "at least " + four_digits(load.value) + "; raise --most";
  if (search.none_meets() && binds != nullptr) {
    const std::string least =
        rules.begins_at_one_agent() ? "one agent" : four_digits(loads.front()) + ' ' + rules.unit();
    return "even " + least + (least == "one agent" ? " misses " : " miss ") + binds->metric + ": " +
           binds->with_unit(four_digits(value));
  }
  if (is_below)
    return "below " + four_digits(loads.front()) + ' ' + rules.unit() +
           " on some seeds; lower the least load";
  return "";
}

std::string Capacity::not_monotone(const CapacityRules& rules) const {
  std::vector<std::string> texts;
  for (std::size_t seed = 0; seed < search.seeds.size(); ++seed) {
    const std::vector<std::size_t> above = search.seeds[seed].above();
    if (above.empty()) continue;
    const auto number =
        rules.workload_seeds.empty() ? static_cast<std::int64_t>(seed) : rules.workload_seeds[seed];
    texts.push_back("seed " + std::to_string(number) + " misses at " +
                    four_digits(rules.search.loads[*search.seeds[seed].miss()]) +
                    " and meets again at " + sweep::joined(mapped(above, [&](std::size_t load) {
                      return four_digits(rules.search.loads[load]);
                    })));
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

}  // namespace analysis
