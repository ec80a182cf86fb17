#include "analysis/capacity/rules.hpp"

#include <cmath>

#include "analysis/text/list.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

constexpr double kStep = 0.1, kLargestLoad = 100'000;
const std::string kCapacity = "capacity.", kSearch = "capacity.search.";

std::string place(const sweep::Location& where) { return sweep::to_text(where) + ": "; }

std::vector<const sweep::Axis*> load_axes(const sweep::SweepSpec& spec) {
  std::vector<const sweep::Axis*> found;
  for (const char* name : {"workload.live", "jps"})
    if (const sweep::Axis* axis = spec.find_axis(name)) found.push_back(axis);
  return found;
}

const sweep::Axis& load_axis(const sweep::SweepSpec& spec) {
  const std::vector<const sweep::Axis*> found = load_axes(spec);
  if (found.empty())
    throw sweep::SpecError(spec.path +
                           ": capacity needs a load on the axes, workload.live or jps: the least "
                           "and the most to try, as \"workload.live\" = [1, 512]");
  if (found.size() > 1)
    throw sweep::SpecError(place(found[1]->where) + "capacity needs one load on the axes, found " +
                           found[0]->name + " (" + sweep::to_text(found[0]->where) + ") and " +
                           found[1]->name);
  return *found.front();
}

/// The axis as numbers, from the least to the most.
std::vector<double> numbers_on(const sweep::Axis& axis) {
  std::vector<double> numbers;
  for (const sweep::Param& each : axis.values) {
    numbers.push_back(number_of(each.value));
    if (!(numbers.back() > 0))
      throw sweep::SpecError(place(each.where) + axis.name + " must be a number above 0, found " +
                             sweep::to_text(each.value));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<double> loads_of(const sweep::Axis& axis, sweep::ParamReader& table) {
  const std::vector<double> given = numbers_on(axis);
  const double step = table.number("capacity.step", kStep, 0.01, 1);
  const bool whole = axis.name != "jps", has_most = table.has("capacity.most");
  const double most = table.number("capacity.most", given.back(), 0, kLargestLoad);
  if (!(most > given.front() && most <= kLargestLoad) || (whole && most != std::floor(most)))
    throw sweep::SpecError(
        (has_most ? sweep::to_text(table.where("capacity.most")) : place(axis.where) + axis.name) +
        ": the most to try must be " + (whole ? "a whole number " : "") + "above the least, " +
        four_digits(given.front()) + ", and at most 100000, found " + exact_number(most) +
        (has_most ? "" : "; or give --most"));
  return loads_between(given.front(), most, step, whole, given);
}

/// capacity.slo = "..." or the names of [capacity.slo].
std::vector<Slo> slos_of(const std::string& path, const sweep::ParamMap& capacity,
                         sweep::ParamReader& table) {
  std::vector<Slo> slos;
  for (const auto& [key, param] : capacity) {
    if (key != "capacity.slo" && !key.starts_with("capacity.slo.")) continue;
    try {
      slos.push_back({key == "capacity.slo" ? "" : key.substr(key.rfind('.') + 1),
                      parse_limits(table.text(key, ""))});
    } catch (const std::invalid_argument& error) {
      throw sweep::SpecError(place(param.where) + error.what());
    }
  }
  if (slos.empty())
    throw sweep::SpecError(path +
                           ": capacity needs --slo, as ttft_p90=2,tpot_p90=0.05, or a table "
                           "[capacity] with slo = \"...\"");
  return slos;
}

/// capacity.NAME.GPU, each of a GPU of the sweep.
std::map<std::string, double> by_gpu(const sweep::ParamMap& capacity, sweep::ParamReader& table,
                                     const std::string& name,
                                     const std::vector<std::string>& gpus) {
  std::map<std::string, double> values;
  const std::string bare = kCapacity + name;
  if (table.has(bare)) table.fail(bare, "must name the GPU, as " + name + ".\"h100-80gb\" = 3");
  for (const auto& [key, param] : capacity) {
    if (!key.starts_with(bare + '.')) continue;
    const std::string gpu = key.substr(bare.size() + 1);
    if (std::ranges::find(gpus, gpu) == gpus.end())
      throw sweep::SpecError(place(param.where) + name + " of " + gpu +
                             ", which is no GPU of the sweep: " + sweep::joined(gpus) +
                             sweep::suggestion(gpu, gpus));
    values[gpu] = table.number(key, 0, 1e-6, 1e6);
  }
  return values;
}

std::vector<std::int64_t> workload_seeds_of(const sweep::SweepSpec& spec) {
  std::vector<std::int64_t> seeds;
  if (const sweep::Axis* axis = spec.find_axis(kSeedAxis))
    for (const sweep::Param& each : axis->values)
      if (const auto* seed = std::get_if<std::int64_t>(&each.value)) seeds.push_back(*seed);
  return seeds;
}

/// How many seeds there are. Live agents need the axis workload.seed, since the seed of arrivals
/// changes nothing of them. Throws where there are fewer than three.
int count_of_seeds(const sweep::SweepSpec& spec, const CapacityRules& rules) {
  const auto least = static_cast<std::int64_t>(kFewestRepeats);
  const sweep::Axis* axis = spec.find_axis(kSeedAxis);
  const auto found = axis != nullptr ? std::ssize(rules.workload_seeds) : spec.repeat.n;
  const std::string needs = "capacity needs three seeds or more for an interval, ";
  if (axis == nullptr && rules.load == "workload.live")
    throw sweep::SpecError(
        spec.path + ": " + needs + "which live agents have by \"" + kSeedAxis +
        "\" = [1, 2, 3] on the axes: they do not depend on the seed of a repeat");
  if (found < least)
    throw sweep::SpecError((axis != nullptr ? place(axis->where) : spec.path + ": ") + needs +
                           (axis != nullptr ? "found " : "[repeat] n = 5, found n = ") +
                           std::to_string(found));
  return static_cast<int>(found);
}

/// [capacity] as the search stored it in its sweep, or, in a user's file, as given.
sweep::ParamMap table_of(const sweep::SweepSpec& spec) {
  if (!is_of_search(spec)) return spec.capacity;
  sweep::ParamMap table;
  for (const auto& [key, param] : spec.capacity)
    if (key.starts_with(kSearch)) table[kCapacity + key.substr(kSearch.size())] = param;
  return table;
}

}  // namespace

std::string value_text(const sweep::Value& value) {
  const double number = number_of(value);
  return std::isnan(number) ? sweep::bare_text(value) : exact_number(number);
}

double known(const std::map<std::string, double>& values, const std::string& gpu) {
  const auto found = values.find(gpu);
  return found == values.end() ? sweep::kNotObserved : found->second;
}

bool CapacityRules::is_own(const std::string& axis) const {
  return axis == load || (axis == kSeedAxis && !workload_seeds.empty());
}

std::string CapacityRules::place_name(const sweep::AxisValues& axes) const {
  std::vector<std::string> texts;
  for (const auto& [axis, value] : axes)
    if (!is_own(axis)) texts.push_back(axis + '=' + value_text(value));
  return sweep::joined(texts, " ");
}

std::vector<std::string> gpus_of(const sweep::SweepSpec& spec) {
  std::vector<std::string> gpus;
  if (const sweep::Axis* axis = spec.find_axis("gpu"))
    for (const sweep::Param& each : axis->values) gpus.push_back(sweep::bare_text(each.value));
  if (const auto gpu = spec.base.find("gpu"); gpu != spec.base.end())
    gpus.push_back(sweep::bare_text(gpu->second.value));
  return gpus;
}

bool is_of_search(const sweep::SweepSpec& spec) {
  return spec.capacity.contains(kSearch + "loads");
}

CapacityRules capacity_rules(const sweep::SweepSpec& spec) {
  const sweep::ParamMap table = table_of(spec);
  sweep::ParamReader reader(table, spec.path);
  CapacityRules rules;
  rules.slos = slos_of(spec.path, table, reader);
  const sweep::Axis& axis = load_axis(spec);
  rules.load = axis.name;
  rules.workload_seeds = workload_seeds_of(spec);
  if (is_of_search(spec)) {
    for (const std::string& each : sweep::split(reader.text("capacity.loads", ""), " "))
      rules.search.loads.push_back(std::strtod(each.c_str(), nullptr));
    if (rules.search.loads.size() < 2 || !std::ranges::is_sorted(rules.search.loads))
      reader.fail("capacity.loads", "must be two or more numbers that ascend");
    rules.search.most_seeds = static_cast<int>(reader.integer("capacity.seeds", 3, 3, 100'000));
  } else {
    rules.search.loads = loads_of(axis, reader);
    rules.search.most_seeds = count_of_seeds(spec, rules);
  }
  for (const sweep::Include& include : spec.includes)
    if (!include.set.empty())
      throw sweep::SpecError(place(include.where) + "capacity searches no [[include]] that sets " +
                             include.set.begin()->first + "; make it an axis");
  const std::vector<std::string> gpus = gpus_of(spec);
  rules.price_per_hour = by_gpu(table, reader, "price_per_hour", gpus);
  rules.watts = by_gpu(table, reader, "watts", gpus);
  reader.reject_unknown();
  return rules;
}

std::optional<CapacityRules> rules_of_archive(const sweep::SweepSpec& spec) {
  if (is_of_search(spec)) return capacity_rules(spec);
  CapacityRules rules;
  for (const sweep::Axis* axis : load_axes(spec)) {
    if (axis->values.size() < 3) continue;
    if (!rules.load.empty()) return std::nullopt;
    rules.load = axis->name;
    rules.search.loads = numbers_on(*axis);
  }
  rules.workload_seeds = workload_seeds_of(spec);
  return rules.load.empty() ? std::nullopt : std::optional(std::move(rules));
}

std::string search_table(const sweep::ParamMap& capacity, const CapacityRules& rules) {
  std::string text = "[capacity.search]\nloads = \"" +
                     sweep::joined(mapped(rules.search.loads, exact_number), " ") +
                     "\"\nseeds = " + std::to_string(rules.search.most_seeds) + '\n';
  for (const auto& [key, param] : capacity) {
    const std::string name = key.substr(kCapacity.size());
    if (name == "step" || name == "most") continue;  // the loads follow from them
    const std::size_t dot = name.find('.');
    text += name.substr(0, dot);
    if (dot != name.npos) text += ".\"" + name.substr(dot + 1) + '"';
    text += " = " + sweep::to_text(param.value) + '\n';
  }
  return text;
}

}  // namespace analysis
