#include "driver/search/capacity_search.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "analysis/text/new_file.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// "[1, 2.5]" of numbers of any type.
std::string list_of(const auto& numbers, auto text_of) {
  std::vector<std::string> texts;
  for (const auto& each : numbers) texts.push_back(text_of(each));
  return '[' + sweep::joined(texts) + "]\n";
}

}  // namespace

CapacitySearch::CapacitySearch(const Options& options, const sweep::SweepSpec& spec,
                               const sweep::SweepSpec& assigned, const std::string& archive)
    : spec_(spec),
      rules_(analysis::capacity_rules(assigned)),
      search_table_(analysis::search_table(assigned.capacity, rules_)),
      stem_(fs::path(archive).replace_extension().string()),
      runs_(options, spec, stem_ + ".capacity.toml", stem_ + ".capacity.log"),
      rounds_(options, runs_, "capacity", {archive, {}, {"--record", "jobs"}}) {
  rounds_.plan(spec.path);
  for (const PlannedCell& planned : rounds_.plan().cells) {
    std::string& block = blocks_[rules_.place_name(planned.cell.axes)];
    if (!block.empty()) continue;
    for (const auto& [axis, value] : written_axes(planned))
      if (!rules_.is_own(axis)) block += '"' + axis + "\" = " + sweep::to_text(value) + '\n';
  }
}

/// The user's file with the loads that it lacks, and what is searched for.
void CapacitySearch::write_sweep() const {
  std::string text = spec_.text +
                     "\n# What kvsweep capacity searched for, and the loads that it asked for "
                     "beyond those of the axis.\n" +
                     search_table_;
  for (const auto& [place, loads] : loads_) {
    text +=
        "[[include]]\n" + blocks_.at(place) + '"' + rules_.load + "\" = " +
        list_of(loads, [&](auto at) { return analysis::exact_number(rules_.search.loads[at]); });
    if (!rules_.workload_seeds.empty())
      text += '"' + std::string(analysis::kSeedAxis) + "\" = " +
              list_of(rules_.workload_seeds, [](auto seed) { return std::to_string(seed); });
  }
  analysis::write_file(runs_.sweep_file(), [&](std::ostream& out) { out << text; });
}

/// Returns false if the plan lacks the cell, whose load is then added to it.
bool CapacitySearch::ask(const analysis::CapacityPlace& place, const analysis::Question& question,
                         bool has_answer, Asked& asked) {
  const auto cell = place.cells.find(question);
  if (cell == place.cells.end()) {
    loads_[place.name].insert(question.load);
    return false;
  }
  const sweep::CellRecord& record = *cell->second.record;
  if (has_answer)
    asked.cells.insert(rounds_.index_of(record));
  else
    rounds_.ask(record, asked);
  return true;
}

/// Decides by the results that there are what is asked for, and what of it is open.
Asked CapacitySearch::judge() {
  for (;;) {
    rounds_.read();
    places_ = analysis::capacity_places(rules_, rounds_.records(), rounds_.archive(), known_);
    capacities_ = analysis::capacities_of(rules_, places_);
    Asked asked{{}, {}, 0, static_cast<int>(capacities_.size()), "rows"};
    asked.decided =
        static_cast<int>(std::ranges::count_if(capacities_, &analysis::Capacity::is_over));
    bool is_planned = true;
    for (const analysis::Capacity& each : capacities_)
      for (const analysis::Question& question : each.search.asked)
        is_planned = ask(*each.place, question, !each.problem.empty(), asked) && is_planned;
    for (const analysis::CapacityPlace& place : places_)
      for (const analysis::Question& question : further_[place.name]) {
        is_planned = ask(place, question, false, asked) && is_planned;
        ++asked.to_confirm;
      }
    if (is_planned) return asked;
    write_sweep();
    rounds_.plan(runs_.sweep_file());
  }
}

int CapacitySearch::run(std::optional<int> budget) {
  const auto judge_and_write = [&] {
    Asked asked = judge();
    if (!asked.open.empty() && !asked.exceeds(budget)) write_sweep();
    return asked;
  };
  return rounds_.search(judge_and_write, budget);
}

std::size_t CapacitySearch::grid_cells() const {
  return places_.size() * rules_.search.loads.size() *
         static_cast<std::size_t>(rules_.search.most_seeds);
}

int CapacitySearch::confirm(const std::string& backend, std::optional<int> budget) {
  for (const analysis::Capacity& each : capacities_) {
    if (!each.problem.empty()) continue;
    const std::size_t last = rules_.search.loads.size() - 1;
    const std::size_t at = analysis::load_below(rules_.search.loads, each.load.value);
    for (const std::size_t load : {at, std::min(at + 1, last)})
      for (int seed = 0; seed < static_cast<int>(analysis::kFewestRepeats); ++seed)
        further_[each.place->name].insert({load, seed});
  }
  if (const int code = run(budget); code != kOk) return code;
  std::set<int> cells;
  for (const analysis::CapacityPlace& place : places_)
    for (const analysis::Question& question : further_.at(place.name))
      cells.insert(rounds_.index_of(*place.cells.at(question).record));
  return cells.empty() ? kOk : rounds_.confirm(backend, stem_ + ".confirm.h5", cells, budget);
}

namespace {

/// A value of the cells over the seeds of a load.
analysis::Estimate estimate_at(const analysis::CapacityPlace& place, std::size_t load,
                               auto value_of) {
  analysis::BySeed values;
  for (const auto& [question, cell] : place.cells)
    if (question.load == load && !cell.metrics.empty()) values[question.seed] = value_of(cell);
  std::erase_if(values, [](const auto& value) { return std::isnan(value.second); });
  return analysis::mean_of(values);
}

}  // namespace

analysis::Grid CapacitySearch::confirmed(const std::string& backend,
                                         analysis::GridFormat format) const {
  std::vector<analysis::CapacityPlace> there;
  std::vector<sweep::CellRecord> records;
  if (const std::string file = stem_ + ".confirm.h5"; fs::exists(file)) {
    sweep::ArchiveReader archive = open_archive(file);
    records = archive.cells();
    analysis::KnownMetrics known;
    there = analysis::capacity_places(rules_, records, &archive, known);
  }
  std::vector<analysis::Confirmation> rows;
  for (const analysis::CapacityPlace& place : there) {
    const auto own = std::ranges::find(places_, place.name, &analysis::CapacityPlace::name);
    const auto further = further_.find(place.name);
    if (own == places_.end() || further == further_.end()) continue;
    std::set<std::size_t> loads;
    for (const analysis::Question& each : further->second) loads.insert(each.load);
    for (const std::size_t load : loads)
      for (const analysis::Slo& slo : rules_.slos)
        for (const analysis::Limit& limit : slo.limits) {
          const auto metric = [&](const auto& cell) { return cell.metrics.at(limit.metric); };
          const auto energy = std::mem_fn(&analysis::CapacityCell::measured_j_per_token);
          rows.push_back({&place, load, &limit, estimate_at(*own, load, metric),
                          estimate_at(place, load, metric),
                          estimate_at(place, load, energy).value});
        }
  }
  const auto kind = [](const std::string& of) { return analysis::to_text({of, "-", "-"}); };
  return confirm_grid(rules_, rows, kind(this->backend()), kind(backend), format);
}

}  // namespace driver
