#include "analysis/capacity/rows.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/digest/statistics.hpp"

namespace analysis {
namespace {

const std::string kTable = "capacity.search.", kMakespan = "makespan_s", kEnergy = "gpu_energy_j";

double number_in(const sweep::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? *real : sweep::kNotObserved;
}

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

/// Whether the capacity is within the range.
bool has_value(const Capacity& capacity, const CapacityRules& rules) {
  return capacity.verdict(rules).empty();
}

/// The mean of what the seeds' cells say at one of their loads.
template <class LoadOf>
double mean_over(const Capacity& capacity, const std::string& metric, LoadOf load_of) {
  std::vector<double> values;
  for (std::size_t seed = 0; seed < capacity.search.seeds.size(); ++seed) {
    const std::optional<std::size_t> load = load_of(capacity.search.seeds[seed]);
    if (!load) continue;
    const CapacityCell& cell = capacity.place->cells.at({*load, static_cast<int>(seed)});
    values.push_back(cell.metrics.at(metric));
  }
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
  const auto most = [](const SeedAnswers& seed) { return seed.most(); };
  capacity.load = mean_of(capacity.search.capacities(rules.search));
  capacity.interactivity = mean_over(capacity, kInteractivityP90, most);
  capacity.tokens_per_s = mean_over(capacity, kThroughput, most);
  capacity.joules_per_token = mean_over(capacity, kEnergy, most) /
                              mean_over(capacity, kMakespan, most) / capacity.tokens_per_s;
  find_binding(rules, capacity);
  return capacity;
}

void add_toml(std::string& text, const char* table, const std::map<std::string, double>& values) {
  for (const auto& [gpu, value] : values)
    text += std::string(table) + ".\"" + gpu + "\" = " + exact_number(value) + '\n';
}

/// The GPU's values in [capacity.search] of this name.
std::map<std::string, double> by_gpu(const sweep::ParamMap& params, const std::string& name,
                                     sweep::ParamReader& reader) {
  std::map<std::string, double> values;
  const std::string prefix = kTable + name + '.';
  for (const auto& [key, param] : params)
    if (key.starts_with(prefix))
      values[key.substr(prefix.size())] = reader.number(key, 0, 1e-9, 1e9);
  return values;
}

/// The loads and seeds of a sweep that is no search; none if it has fewer than three loads.
std::optional<CapacityRules> rules_of_axes(const sweep::SweepSpec& spec) {
  CapacityRules rules;
  for (const char* name : kLoadAxes) {
    const sweep::Axis* axis = spec.find_axis(name);
    if (axis == nullptr || axis->values.size() < 3) continue;
    if (!rules.load.empty()) return std::nullopt;
    rules.load = name;
    for (const sweep::Param& each : axis->values)
      rules.search.loads.push_back(number_in(each.value));
  }
  std::ranges::sort(rules.search.loads);
  if (const sweep::Axis* axis = spec.find_axis(kSeedAxis))
    for (const sweep::Param& each : axis->values)
      if (const auto* seed = std::get_if<std::int64_t>(&each.value))
        rules.workload_seeds.push_back(*seed);
  return rules.load.empty() ? std::nullopt : std::optional(std::move(rules));
}

}  // namespace

double known(const std::map<std::string, double>& values, const std::string& gpu) {
  const auto found = values.find(gpu);
  return found == values.end() ? sweep::kNotObserved : found->second;
}

std::string value_text(const sweep::Value& value) {
  const double number = number_in(value);
  return std::isnan(number) ? sweep::bare_text(value) : exact_number(number);
}

bool CapacityRules::is_own(const std::string& axis) const {
  return axis == load || (axis == kSeedAxis && !workload_seeds.empty());
}

std::string CapacityRules::place_name(const sweep::AxisValues& axes) const {
  std::vector<std::string> texts;
  for (const auto& [axis, value] : axes) {
    if (is_own(axis)) continue;
    texts.push_back(axis + '=' + value_text(value));
  }
  return sweep::joined(texts, " ");
}

std::string CapacityRules::to_toml() const {
  std::string text = "[capacity.search]\nload = \"" + load +
                     "\"\nseeds = " + std::to_string(search.most_seeds) + "\nloads = \"";
  std::vector<std::string> numbers;
  for (const double each : search.loads) numbers.push_back(exact_number(each));
  text += sweep::joined(numbers, " ") + "\"\n";
  numbers.clear();
  for (const std::int64_t each : workload_seeds) numbers.push_back(std::to_string(each));
  if (!numbers.empty()) text += "workload_seeds = \"" + sweep::joined(numbers, " ") + "\"\n";
  for (const Slo& slo : slos) {
    std::vector<std::string> limits;
    for (const Limit& each : slo.limits)
      limits.push_back(each.metric + '=' + exact_number(each.value));
    text += "slo.\"" + slo.name + "\" = \"" + sweep::joined(limits, ",") + "\"\n";
  }
  add_toml(text, "price_per_hour", price_per_hour);
  add_toml(text, "watts", watts);
  return text;
}

std::optional<CapacityRules> capacity_rules(const sweep::SweepSpec& spec) {
  if (!spec.capacity.contains(kTable + "load")) return rules_of_axes(spec);
  sweep::ParamReader reader(spec.capacity, spec.path);
  CapacityRules rules;
  rules.load = reader.choice(kTable + "load", "", {std::begin(kLoadAxes), std::end(kLoadAxes)});
  rules.search.most_seeds = static_cast<int>(reader.integer(kTable + "seeds", 3, 3, 100'000));
  for (const std::string& each : sweep::split(reader.text(kTable + "loads", "") + ' ', " "))
    rules.search.loads.push_back(std::strtod(each.c_str(), nullptr));
  for (const std::string& each : sweep::split(reader.text(kTable + "workload_seeds", ""), " "))
    rules.workload_seeds.push_back(std::strtoll(each.c_str(), nullptr, 10));
  if (rules.search.loads.size() < 2 || !std::ranges::is_sorted(rules.search.loads))
    reader.fail(kTable + "loads", "must be two or more numbers that ascend");
  const std::string prefix = kTable + "slo.";
  for (const auto& [key, param] : spec.capacity) {
    if (!key.starts_with(prefix)) continue;
    try {
      rules.slos.push_back({key.substr(prefix.size()), parse_limits(reader.text(key, ""))});
    } catch (const std::invalid_argument& error) {
      reader.fail(key, error.what());
    }
  }
  rules.price_per_hour = by_gpu(spec.capacity, "price_per_hour", reader);
  rules.watts = by_gpu(spec.capacity, "watts", reader);
  return rules;
}

std::vector<CapacityPlace> capacity_places(const CapacityRules& rules,
                                           const std::vector<const sweep::CellRecord*>& records,
                                           sweep::ArchiveReader* archive, KnownMetrics& known) {
  const std::set<std::string> wanted = metrics_of(rules);
  std::vector<CapacityPlace> places;
  std::map<std::string, std::size_t> place_of;
  for (const sweep::CellRecord* record : records) {
    const sweep::Value* load = sweep::value_on(record->axes, rules.load);
    if (load == nullptr) continue;
    const auto number = std::ranges::find(rules.search.loads, number_in(*load));
    if (number == rules.search.loads.end()) continue;
    const int seed = seed_of(*record, rules);
    if (seed < 0) continue;
    sweep::AxisValues axes = record->axes;
    std::erase_if(axes, [&](const auto& axis) { return rules.is_own(axis.first); });
    const auto [at, is_new] = place_of.try_emplace(rules.place_name(axes), places.size());
    if (is_new)
      places.push_back({at->first, axes, text_on(axes, "gpu"), text_on(axes, "policy"), {}});
    CapacityCell cell{record, {}};
    if (record->has_result(sweep::RecordLevel::jobs) && archive != nullptr) {
      const auto [metrics, is_unread] = known.try_emplace(record->key);
      if (is_unread) {
        CellMetrics values(*archive, *record);
        for (const std::string& each : wanted) metrics->second[each] = values(each);
      }
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
  if (search.all_meet(rules.search))
    return "at least " + four_digits(loads.back()) + "; raise --most";
  if (search.none_meets() && binds != nullptr) {
    const std::string least = loads.front() == 1 && rules.load == "workload.live"
                                  ? "one agent"
                                  : four_digits(loads.front()) + ' ' + rules.unit();
    return "even " + least + (least == "one agent" ? " misses " : " miss ") + binds->metric + ": " +
           four_digits(value) + ' ' + unit_of(binds->metric);
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

std::optional<Ratio> over_fcfs(const CapacityRules& rules, const Capacity& capacity,
                               const std::vector<Capacity>& all) {
  const auto others = [&](const Capacity& each) {
    sweep::AxisValues axes = each.place->axes;
    std::erase_if(
        axes, [](const auto& axis) { return axis.first == "policy" || axis.first == "dram_gib"; });
    return rules.place_name(axes);
  };
  for (const Capacity& base : all)
    if (base.slo == capacity.slo && base.place->policy == "fcfs" && &base != &capacity &&
        others(base) == others(capacity) && has_value(base, rules) && has_value(capacity, rules))
      return ratio_of(capacity.search.capacities(rules.search),
                      base.search.capacities(rules.search));
  return std::nullopt;
}

Grid capacity_grid(const CapacityRules& rules, const std::vector<Capacity>& capacities) {
  Grid grid;
  const bool has_price = !rules.price_per_hour.empty(), has_watts = !rules.watts.empty();
  if (rules.slos.size() > 1) grid.columns.push_back({"SLO", "", false});
  std::vector<std::string> axes;
  for (const Capacity& each : capacities)
    for (const auto& [axis, value] : each.place->axes)
      if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  for (const std::string& axis : axes) grid.columns.push_back({axis, "", false});
  grid.columns.push_back({"capacity", rules.unit() + " per GPU", false});
  grid.columns.push_back({"of fcfs", "", false});
  grid.columns.push_back({"seeds", ""});
  grid.columns.push_back({"binds", "", false});
  grid.columns.push_back({"the next step breaks", "", false});
  grid.columns.push_back({"interactivity p90", "tok/s"});
  grid.columns.push_back({"output", "tok/s per GPU"});
  if (has_price) grid.columns.push_back({"price", "$ per million tokens"});
  if (has_watts) grid.columns.push_back({"energy", "J/token"});
  if (has_watts) grid.columns.push_back({"density", rules.unit() + " per MW"});
  for (const Capacity& each : capacities) {
    std::vector<std::string> row;
    if (rules.slos.size() > 1) row.push_back(each.slo->name);
    for (const std::string& axis : axes) {
      const sweep::Value* value = sweep::value_on(each.place->axes, axis);
      row.push_back(value == nullptr ? "-" : value_text(*value));
    }
    const std::string verdict = each.verdict(rules);
    const bool all_meet = each.has_answer() && each.search.all_meet(rules.search);
    row.push_back(verdict.empty() ? estimate_text(each.load) : verdict);
    const auto ratio = over_fcfs(rules, each, capacities);
    row.push_back(ratio ? estimate_text(*ratio) : "-");
    row.push_back(std::to_string(each.search.seeds.size()));
    row.push_back(each.binds == nullptr ? "-" : each.binds->text());
    row.push_back(each.binds == nullptr
                      ? "-"
                      : four_digits(each.value) + ' ' + unit_of(each.binds->metric) + " at " +
                            four_digits(each.next) + " (" + std::to_string(each.misses) + " of " +
                            std::to_string(each.search.seeds.size()) + ")");
    row.push_back(four_digits(each.interactivity));
    row.push_back(four_digits(each.tokens_per_s));
    const double price = known(rules.price_per_hour, each.place->gpu);
    const double watts = known(rules.watts, each.place->gpu);
    if (has_price) row.push_back(four_digits(price / 3600 / each.tokens_per_s * 1e6));
    const double joules = each.joules_per_token;
    if (has_watts)
      row.push_back(four_digits(std::isnan(joules) ? watts / each.tokens_per_s : joules));
    if (has_watts)
      row.push_back((all_meet ? "at least " : "") + four_digits(each.load.value / watts * 1e6));
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

}  // namespace analysis
