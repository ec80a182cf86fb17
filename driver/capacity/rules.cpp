#include "driver/capacity/rules.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "workers/profiles/profiles.hpp"

namespace driver {
namespace {

constexpr double kStep = 0.1, kLargestLoad = 100'000;

std::string place(const sweep::Location& where) { return sweep::to_text(where) + ": "; }

const sweep::Axis& load_axis(const sweep::SweepSpec& spec) {
  std::vector<const sweep::Axis*> found;
  for (const char* name : analysis::kLoadAxes)
    if (const sweep::Axis* axis = spec.find_axis(name)) found.push_back(axis);
  const std::string may_be = sweep::joined(analysis::kLoadAxes, " or ");
  if (found.empty())
    throw sweep::SpecError(spec.path + ": capacity needs a load on the axes, " + may_be +
                           ": the least and the most to try, as \"workload.live\" = [1, 512]");
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
    const auto* whole = std::get_if<std::int64_t>(&each.value);
    const auto* real = std::get_if<double>(&each.value);
    if (whole == nullptr && real == nullptr)
      throw sweep::SpecError(place(each.where) + axis.name + " must be a number, found " +
                             sweep::to_text(each.value));
    numbers.push_back(whole != nullptr ? static_cast<double>(*whole) : *real);
    if (!(numbers.back() > 0))
      throw sweep::SpecError(place(each.where) + axis.name + " must be above 0, found " +
                             sweep::to_text(each.value));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<double> loads_of(const sweep::Axis& axis, sweep::ParamReader& table,
                             const Options& options) {
  const std::vector<double> given = numbers_on(axis);
  const double step = table.number("capacity.step", kStep, 0.01, 1);
  const bool whole = axis.name != "jps";
  double most = table.number("capacity.most", given.back(), 1e-6, kLargestLoad);
  if (options.most) most = *options.most;
  const std::string where = options.most ? "--most" : place(axis.where) + axis.name;
  if (!(most > given.front() && most <= kLargestLoad) || (whole && most != std::floor(most)))
    throw sweep::SpecError(where + ": the most to try must be " + (whole ? "a whole number " : "") +
                           "above the least, " + analysis::four_digits(given.front()) +
                           ", and at most 100000, found " + analysis::exact_number(most) +
                           (options.most ? "" : "; or give --most"));
  return analysis::loads_between(given.front(), most, step, whole, given);
}

std::vector<analysis::Limit> limits_in(const std::string& text, const std::string& where) {
  try {
    return analysis::parse_limits(text);
  } catch (const std::invalid_argument& error) {
    throw sweep::SpecError(where + ": " + error.what());
  }
}

/// Those of the command line, or capacity.slo = "..." or the names of [capacity.slo].
std::vector<analysis::Slo> slos_of(const sweep::SweepSpec& spec, sweep::ParamReader& table,
                                   const Options& options) {
  std::vector<analysis::Slo> slos;
  for (const auto& [key, param] : spec.capacity) {
    if (key != "capacity.slo" && !key.starts_with("capacity.slo.")) continue;
    const std::string name = key == "capacity.slo" ? "slo" : key.substr(key.rfind('.') + 1);
    slos.push_back({name, limits_in(table.text(key, ""), sweep::to_text(param.where))});
  }
  if (options.slo) slos = {{"slo", limits_in(*options.slo, "--slo")}};
  if (slos.empty())
    throw UsageError(
        "capacity needs --slo, as ttft_p90=2,tpot_p90=0.05, or a table [capacity] "
        "with slo = \"...\" in the sweep file");
  return slos;
}

/// capacity.NAME.GPU of the file, and "GPU=NUMBER" of the command line over it.
std::map<std::string, double> by_gpu(const sweep::SweepSpec& spec, sweep::ParamReader& table,
                                     const std::string& name,
                                     const std::vector<std::string>& given) {
  std::map<std::string, double> values;
  const std::string prefix = "capacity." + name + '.';
  if (const std::string bare = "capacity." + name; spec.capacity.contains(bare))
    table.fail(bare, "must name the GPU, as " + name + ".\"h100-80gb\" = 3");
  for (const auto& [key, param] : spec.capacity)
    if (key.starts_with(prefix))
      values[key.substr(prefix.size())] = table.number(key, 0, 1e-6, 1e6);
  for (const std::string& each : given) {
    const std::size_t at = std::min(each.find('='), each.size());
    double number = 0;
    const char* end = each.data() + each.size();
    const auto [stop, error] =
        std::from_chars(each.data() + std::min(at + 1, each.size()), end, number);
    if (at == 0 || error != std::errc() || stop != end || !(number > 0 && number <= 1e6))
      throw UsageError("--" + std::string(name == "watts" ? name : "price") +
                       " must be GPU=NUMBER, as h100-80gb=2.5, found \"" + each + '"');
    values[each.substr(0, at)] = number;
  }
  return values;
}

std::vector<std::string> gpus_of(const sweep::SweepSpec& spec) {
  std::vector<std::string> gpus;
  if (const sweep::Axis* axis = spec.find_axis("gpu"))
    for (const sweep::Param& each : axis->values) gpus.push_back(sweep::bare_text(each.value));
  if (const auto gpu = spec.base.find("gpu"); gpu != spec.base.end())
    gpus.push_back(sweep::bare_text(gpu->second.value));
  return gpus;
}

/// Throws for a GPU that the sweep does not have.
void check_gpus(const std::map<std::string, double>& values, const char* what,
                const std::vector<std::string>& gpus) {
  for (const auto& [gpu, value] : values)
    if (std::ranges::find(gpus, gpu) == gpus.end())
      throw UsageError(std::string(what) + " of " + gpu + ", which is no GPU of the sweep: " +
                       sweep::joined(gpus) + sweep::suggestion(gpu, gpus));
}

/// The axis workload.seed, which live agents need, since the seed of arrivals changes nothing of
/// them. Throws where there are fewer than three seeds.
std::vector<std::int64_t> workload_seeds_of(const sweep::SweepSpec& spec, const std::string& load) {
  const auto least = static_cast<std::int64_t>(analysis::kFewestRepeats);
  const sweep::Axis* axis = spec.find_axis(analysis::kSeedAxis);
  std::vector<std::int64_t> seeds;
  if (axis != nullptr)
    for (const sweep::Param& each : axis->values)
      if (const auto* seed = std::get_if<std::int64_t>(&each.value)) seeds.push_back(*seed);
  const std::string needs = "capacity needs three seeds or more for an interval, ";
  if (axis == nullptr && load == "workload.live")
    throw sweep::SpecError(spec.path + ": " + needs + "which live agents have by \"" +
                           analysis::kSeedAxis + "\" = [1, 2, 3] on the axes: they do not depend " +
                           "on the seed of a repeat");
  if (axis != nullptr && seeds.size() < analysis::kFewestRepeats)
    throw sweep::SpecError(place(axis->where) + needs + "found " + std::to_string(seeds.size()));
  if (axis == nullptr && spec.repeat.n < least)
    throw sweep::SpecError(spec.path + ": " + needs +
                           "[repeat] n = 5, found n = " + std::to_string(spec.repeat.n));
  return seeds;
}

}  // namespace

analysis::CapacityRules rules_of(const sweep::SweepSpec& spec, const Options& options) {
  sweep::ParamReader table(spec.capacity, spec.path);
  analysis::CapacityRules rules;
  rules.slos = slos_of(spec, table, options);
  const sweep::Axis& axis = load_axis(spec);
  rules.load = axis.name;
  rules.search.loads = loads_of(axis, table, options);
  rules.workload_seeds = workload_seeds_of(spec, axis.name);
  rules.search.most_seeds = static_cast<int>(
      rules.workload_seeds.empty() ? spec.repeat.n
                                   : static_cast<std::int64_t>(rules.workload_seeds.size()));
  for (const sweep::Include& include : spec.includes)
    if (!include.set.empty())
      throw sweep::SpecError(place(include.where) + "capacity searches no [[include]] that sets " +
                             include.set.begin()->first + "; make it an axis");
  rules.price_per_hour = by_gpu(spec, table, "price_per_hour", options.price);
  rules.watts = by_gpu(spec, table, "watts", options.watts);
  table.reject_unknown();
  const std::vector<std::string> gpus = gpus_of(spec);
  check_gpus(rules.price_per_hour, "the price", gpus);
  check_gpus(rules.watts, "the watts", gpus);
  for (const std::string& gpu : gpus) {
    const backends::GpuProfile profile = worker::load_gpu_profile(options.profiles, gpu);
    rules.watts.try_emplace(gpu, profile.power_limit_w);
    if (profile.price_per_hour > 0) rules.price_per_hour.try_emplace(gpu, profile.price_per_hour);
  }
  return rules;
}

}  // namespace driver
