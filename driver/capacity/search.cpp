#include "driver/capacity/search.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

std::string number_text(double load) { return analysis::exact_number(load); }

/// The axes of the cell's place, as the sweep file has them: a policy without the changes that its
/// label names.
sweep::AxisValues written_axes(const PlannedCell& planned, const analysis::CapacityRules& rules) {
  sweep::AxisValues axes;
  for (const auto& [axis, value] : planned.cell.axes) {
    if (rules.is_own(axis)) continue;
    const bool is_profile = axis == "policy" && !planned.cell.params.contains(axis);
    const std::string name = is_profile ? "server.profile" : axis;
    axes.emplace_back(name, planned.cell.params.at(name).value);
  }
  return axes;
}

bool has_failed(sweep::CellStatus status) {
  return status == sweep::CellStatus::failed || status == sweep::CellStatus::timeout ||
         status == sweep::CellStatus::quarantined;
}

std::size_t size_of(const auto& by_place) {
  std::size_t size = 0;
  for (const auto& [place, items] : by_place) size += items.size();
  return size;
}

std::vector<const sweep::CellRecord*> pointers_to(const std::vector<sweep::CellRecord>& records) {
  std::vector<const sweep::CellRecord*> pointers;
  for (const sweep::CellRecord& each : records)
    if (!each.kept) pointers.push_back(&each);
  return pointers;
}

}  // namespace

CapacityFiles::CapacityFiles(const std::string& path) : archive(path) {
  const fs::path stem = fs::path(path).parent_path() / fs::path(path).stem();
  confirm = stem.string() + ".confirm.h5";
  sweep = stem.string() + ".capacity.toml";
  log = stem.string() + ".capacity.log";
}

CapacitySearch::CapacitySearch(const Options& options, const sweep::SweepSpec& spec,
                               analysis::CapacityRules rules, CapacityFiles files)
    : options_(options),
      spec_(spec),
      rules_(std::move(rules)),
      files_(std::move(files)),
      runs_(options, spec, files_.sweep, options.profiles.string(), files_.log) {}

std::string CapacitySearch::sweep_text() const {
  std::string text = spec_.text +
                     "\n# What kvsweep capacity searched for, and the loads that it "
                     "asked for beyond those of the axis.\n" +
                     rules_.to_toml();
  for (const auto& [place, block] : blocks_) {
    const auto loads = loads_.find(place);
    if (loads == loads_.end()) continue;
    std::vector<std::string> numbers;
    for (const std::size_t each : loads->second)
      numbers.push_back(number_text(rules_.search.loads[each]));
    text += "[[include]]\n" + block + '"' + rules_.load + "\" = [" + sweep::joined(numbers) + "]\n";
    if (rules_.workload_seeds.empty()) continue;
    numbers.clear();
    for (const std::int64_t each : rules_.workload_seeds) numbers.push_back(std::to_string(each));
    text += '"' + std::string(analysis::kSeedAxis) + "\" = [" + sweep::joined(numbers) + "]\n";
  }
  return text;
}

/// Writes the sweep file and plans it.
void CapacitySearch::plan() {
  analysis::NewFile file(files_.sweep);
  file.fill([&](std::ostream& out) { out << sweep_text(); });
  file.commit();
  Options options = options_;
  options.only.clear();
  options.set = runs_.assignments({});
  if (!options.backend && !spec_.backend) options.backend = "sim";
  plan_ = make_plan(files_.sweep, options);
  for (const PlannedCell& planned : plan_.cells) {
    const std::string place = rules_.place_name(planned.cell.axes);
    if (blocks_.contains(place)) continue;
    std::string& block = blocks_[place];
    std::string& filter = filters_[place];
    for (const auto& [axis, value] : written_axes(planned, rules_)) {
      block += '"' + axis + "\" = " + sweep::to_text(value) + '\n';
      filter += axis + '=' + sweep::bare_text(value) + ',';
    }
  }
}

/// Decides by the results that there are what is open.
void CapacitySearch::judge() {
  std::optional<sweep::ArchiveReader> archive;
  std::map<std::string, const sweep::CellRecord*> found;
  if (fs::exists(files_.archive)) {
    archive.emplace(open_archive(files_.archive));
    for (const sweep::CellRecord& record : archive->cells()) found[record.key] = &record;
  }
  records_ = planned_records(plan_);
  for (sweep::CellRecord& record : records_) {
    const auto known = found.find(record.key);
    if (known == found.end() || !known->second->has_run()) continue;
    if (has_failed(known->second->status) && !tried_.contains(record.key)) continue;
    const sweep::AxisValues axes = record.axes;
    record = *known->second;
    record.axes = axes;  // whole numbers are none in the archive where a cell lacks the axis
    record.kept = false;
  }
  places_ = analysis::capacity_places(rules_, pointers_to(records_), archive ? &*archive : nullptr,
                                      known_);
  capacities_ = analysis::capacities_of(rules_, places_);
  questions_ = further_;
  open_.clear();
  for (const analysis::Capacity& each : capacities_) {
    questions_[each.place->name].insert(each.search.asked.begin(), each.search.asked.end());
    if (each.problem.empty())
      open_[each.place->name].insert(each.search.open.begin(), each.search.open.end());
  }
  for (const analysis::CapacityPlace& place : places_)
    if (const auto further = further_.find(place.name); further != further_.end())
      for (const analysis::Question& each : further->second)
        if (const auto cell = place.cells.find(each);
            cell == place.cells.end() || cell->second.record->status == sweep::CellStatus::planned)
          open_[place.name].insert(each);
  std::erase_if(open_, [](const auto& place) { return place.second.empty(); });
  asked_ = size_of(questions_);
}

/// Adds the loads that are asked for to the plan. Returns false if it has them all.
bool CapacitySearch::plan_loads() {
  const auto on_axis = [&](double load) {
    return std::ranges::any_of(
        spec_.find_axis(rules_.load)->values,
        [&](const sweep::Param& value) { return sweep::same_value(value.value, load); });
  };
  bool changes = false;
  for (const auto& [place, questions] : questions_)
    for (const analysis::Question& each : questions)
      if (!on_axis(rules_.search.loads[each.load]))
        changes = loads_[place].insert(each.load).second || changes;
  if (changes) plan();
  return changes;
}

std::vector<std::string> CapacitySearch::only_of(const Cells& cells) const {
  std::vector<std::string> only;
  for (const auto& [place, questions] : cells) {
    std::map<std::size_t, std::vector<std::string>> seeds;
    const std::vector<std::int64_t>& own = rules_.workload_seeds;
    for (const auto& [load, seed] : questions)
      seeds[load].push_back(
          std::to_string(own.empty() ? seed : own[static_cast<std::size_t>(seed)]));
    const std::string seed_key = own.empty() ? "repeat" : analysis::kSeedAxis;
    for (const auto& [load, repeats] : seeds)
      only.push_back(filters_.at(place) + rules_.load + '=' +
                     number_text(rules_.search.loads[load]) + ',' + seed_key + '=' +
                     sweep::joined(repeats, ","));
  }
  return only;
}

/// "capacity: round 3, 12 of 24 rows decided, 31 cells asked for"
std::string CapacitySearch::progress() const {
  const auto decided = std::ranges::count_if(capacities_, [](const analysis::Capacity& each) {
    return each.search.is_over() || !each.problem.empty();
  });
  return "capacity: round " + std::to_string(rounds_) + ", " + std::to_string(decided) + " of " +
         std::to_string(capacities_.size()) + " rows decided, " + std::to_string(asked_) +
         " cells asked for";
}

/// Runs what is open. Returns the exit code of the run.
int CapacitySearch::run_open() {
  ++rounds_;
  const Cells before = open_;
  const std::vector<std::string> only = only_of(open_);
  write_asked(files_.archive, only, progress());
  std::cerr << "kvsweep: " << progress() << ", " << size_of(open_)
            << " of them run; their output goes to " << analysis::terminal_text(files_.log)
            << std::endl;
  const int code = runs_.run({files_.archive, only, {}, {}, {"--record", "jobs"}});
  if (!is_over(code)) return code;
  for (const sweep::CellRecord& record : records_) tried_.insert(record.key);
  judge();
  if (open_ == before)
    throw std::runtime_error("the cells that capacity asked for have no result: see " + files_.log);
  return kOk;
}

int CapacitySearch::run() {
  for (plan();;) {
    judge();
    if (plan_loads()) continue;
    if (open_.empty()) return kOk;
    is_out_of_budget_ = options_.budget && asked_ > static_cast<std::size_t>(*options_.budget);
    if (is_out_of_budget_) return kIncomplete;
    if (const int code = run_open(); code != kOk) return code;
  }
}

void CapacitySearch::finish() const {
  if (!fs::exists(files_.archive)) return;
  std::set<std::string> needed;
  for (const analysis::CapacityPlace& place : places_)
    for (const analysis::Question& each : questions_.at(place.name))
      if (const auto cell = place.cells.find(each); cell != place.cells.end())
        needed.insert(cell->second.record->key);
  exclude_cells(options_, files_.archive, [&](const sweep::CellRecord& cell) -> std::string {
    return needed.contains(cell.key) ? "" : "kvsweep capacity has its answer without it";
  });
  std::error_code ignored;
  fs::remove(files_.archive + ".asked", ignored);
}

std::size_t CapacitySearch::grid_cells() const {
  return places_.size() * rules_.search.loads.size() *
         static_cast<std::size_t>(rules_.search.most_seeds);
}

int CapacitySearch::confirm(const std::string& backend) {
  for (const analysis::Capacity& each : capacities_) {
    if (!each.problem.empty()) continue;
    const std::size_t last = rules_.search.loads.size() - 1;
    const std::size_t at = analysis::load_below(rules_.search.loads, each.load.value);
    for (const std::size_t load : {at, std::min(at + 1, last)})
      for (int seed = 0; seed < static_cast<int>(analysis::kFewestRepeats); ++seed)
        further_[each.place->name].insert({load, seed});
  }
  if (further_.empty()) return kOk;
  judge();
  while (plan_loads()) judge();
  if (!open_.empty())
    if (const int code = run_open(); code != kOk) return code;
  const std::vector<std::string> only = only_of(further_);
  write_asked(files_.confirm, only);
  std::cerr << "kvsweep: " << size_of(further_) << " cells run on " << backend
            << "; their output goes to " << analysis::terminal_text(files_.log) << std::endl;
  return runs_.run({files_.confirm, only, backend, {}, {"--record", "jobs"}});
}

namespace {

/// The metric over the seeds of a load.
analysis::Estimate estimate_at(const analysis::CapacityPlace& place, std::size_t load,
                               const std::string& metric) {
  analysis::BySeed values;
  for (const auto& [question, cell] : place.cells)
    if (const auto found = cell.metrics.find(metric);
        question.load == load && found != cell.metrics.end() && !std::isnan(found->second))
      values[question.seed] = found->second;
  return analysis::mean_of(values);
}

}  // namespace

analysis::Grid CapacitySearch::confirmed(const std::string& backend) const {
  sweep::ArchiveReader archive = open_archive(files_.confirm);
  const std::vector<sweep::CellRecord> records = archive.cells();
  analysis::KnownMetrics known;
  const auto there = analysis::capacity_places(rules_, pointers_to(records), &archive, known);
  analysis::Grid grid;
  grid.columns = {{"place", "", false},
                  {"load", rules_.unit()},
                  {"limit", "", false},
                  {plan_.backend, capacity_kind(plan_.backend)},
                  {backend, capacity_kind(backend)},
                  {"there", "", false}};
  for (const analysis::CapacityPlace& place : places_) {
    const auto other = std::ranges::find(there, place.name, &analysis::CapacityPlace::name);
    const auto further = further_.find(place.name);
    if (other == there.end() || further == further_.end()) continue;
    std::set<std::size_t> loads;
    for (const analysis::Question& each : further->second) loads.insert(each.load);
    for (const std::size_t load : loads)
      for (const analysis::Slo& slo : rules_.slos)
        for (const analysis::Limit& limit : slo.limits) {
          const analysis::Estimate measured = estimate_at(*other, load, limit.metric);
          grid.rows.push_back({place.name, analysis::four_digits(rules_.search.loads[load]),
                               limit.text(),
                               analysis::estimate_text(estimate_at(place, load, limit.metric)),
                               analysis::estimate_text(measured),
                               std::isnan(measured.value)        ? "no result"
                               : limit.is_met_by(measured.value) ? "meets"
                                                                 : "misses"});
        }
  }
  return grid;
}

}  // namespace driver
