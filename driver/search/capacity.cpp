#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>

#include "analysis/capacity/rows.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/run/setup.hpp"
#include "driver/search/commands.hpp"
#include "driver/search/rounds.hpp"
#include "sweeps/definition/assignment.hpp"
#include "workers/profiles/profiles.hpp"
#include "workers/rank/ready_worker.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;
using analysis::Capacity, analysis::CapacityPlace, analysis::Question;

/// "GPU=NUMBER" over the file's table of this name.
void take(const std::vector<std::string>& given, const std::string& flag, const std::string& name,
          sweep::ParamMap& capacity) {
  for (const std::string& each : given) {
    const sweep::Assignment number = sweep::parse_assignment(each, flag);
    capacity["capacity." + name + '.' + number.key] = number.param;
  }
}

/// The sweep with the command line over its parameters and its table [capacity], and there the
/// prices and watts of its GPUs' profiles.
sweep::SweepSpec assigned(sweep::SweepSpec spec, const Options& options) {
  if (analysis::is_of_search(spec))
    throw UsageError(spec.path + " is of a search: give the sweep file that it began with");
  for (const std::string& each : options.set) sweep::assign(spec, sweep::parse_assignment(each));
  if (options.slo) {
    std::erase_if(spec.capacity,
                  [](const auto& each) { return each.first.starts_with("capacity.slo"); });
    spec.capacity["capacity.slo"] = {*options.slo, {"--slo", 0, 0}};
  }
  if (options.most) spec.capacity["capacity.most"] = {*options.most, {"--most", 0, 0}};
  take(options.price, "--price GPU=USD", "price_per_hour", spec.capacity);
  take(options.watts, "--watts GPU=W", "watts", spec.capacity);
  for (const std::string& gpu : analysis::gpus_of(spec)) {
    const backends::GpuProfile profile = worker::load_gpu_profile(options.profiles, gpu);
    const auto know = [&](const std::string& name, double value) {
      if (value > 0)
        spec.capacity.try_emplace("capacity." + name + '.' + gpu, sweep::Param{value, {}});
    };
    know("price_per_hour", profile.price_per_hour);
    know("watts", profile.power_limit_w);
  }
  return spec;
}

/// Before the search, which may last long, and before a file is written.
void check_confirm(const Options& options, const std::string& searched) {
  if (!options.confirm) return;
  require_backend(*options.confirm, "--confirm");
  if (*options.confirm == searched)
    throw UsageError("--confirm must be another backend than " + searched + ", which is searched");
  worker::require_built(*options.confirm);
  Options on = options;
  on.backend = options.confirm;
  make_plan(options.arguments.front(), on);
}

/// Throws where live agents are searched up to more of them than the cell has jobs. Of jobs that
/// are wrong its run says so.
void check_jobs(const PlannedCell& planned, double most, worker::WorkloadCache& workloads) {
  const worker::ExperimentConfig config = planned.config();
  std::size_t jobs = 0;
  try {
    jobs =
        workloads.load(config.workload, config.engine.scheduler.max_model_len).workload.jobs.size();
  } catch (const worker::InputError&) {
    return;
  }
  const std::string lacks = analysis::lack_of_jobs(most, static_cast<double>(jobs));
  if (lacks.empty()) return;
  const auto given = planned.cell.params.find("workload.jobs");
  throw sweep::SpecError(
      (given == planned.cell.params.end() ? "" : sweep::to_text(given->second.where) + ": ") +
      lacks);
}

/// Throws where a search cannot write tables of its own behind the file, which has them inline.
void check_tables(const sweep::SweepSpec& spec) {
  const auto check = [&](const std::string& table, const sweep::Location* where) {
    try {
      sweep::parse_spec(spec.text + '\n' + table, spec.path);
    } catch (const sweep::SpecError&) {
      throw sweep::SpecError(
          (where == nullptr ? spec.path : sweep::to_text(*where)) + ": capacity adds " + table +
          " to the sweep, which cannot have it inline, in braces: write a table below its name");
    }
  };
  check("[capacity.search]",
        spec.capacity.empty() ? nullptr : &spec.capacity.begin()->second.where);
  check("[[include]]", spec.includes.empty() ? nullptr : &spec.includes.front().where);
}

/// A value of the cells over the seeds of a load.
analysis::Estimate estimate_at(const CapacityPlace& place, std::size_t load, auto value_of) {
  analysis::BySeed values;
  for (const auto& [question, cell] : place.cells)
    if (question.load == load && !cell.metrics.empty()) values[question.seed] = value_of(cell);
  std::erase_if(values, [](const auto& value) { return std::isnan(value.second); });
  return analysis::mean_of(values);
}

/// The search for the capacities of a sweep's places. Its log is the archive: the sweep file there
/// lists the loads that were asked for, and the rules decide by its results from the first on.
///
///     A.h5             the archive
///     A.confirm.h5     that of another backend
///     A.capacity.toml  the sweep with every load that was asked for
///     A.capacity.log   what the runs printed
class CapacitySearch {
 public:
  /// `assigned` is the sweep with what the command line says of it.
  CapacitySearch(const Options& options, const sweep::SweepSpec& spec,
                 const sweep::SweepSpec& assigned, const std::string& archive)
      : options_(options),
        spec_(spec),
        rules_(analysis::capacity_rules(assigned)),
        search_table_(analysis::search_table(assigned.capacity, rules_)),
        archive_(archive),
        stem_(fs::path(archive).replace_extension().string()),
        runs_(options, spec, stem_ + ".capacity.toml", stem_ + ".capacity.log"),
        rounds_(options, runs_, "capacity", {archive, {}, {"--record", "jobs"}}) {
    if (std::error_code none; fs::equivalent(runs_.sweep_file(), spec.path, none))
      throw UsageError(spec.path + " is the file that the search writes beside " + archive +
                       ": give --archive another name");
    check_tables(spec);
    rounds_.plan(spec.path);
    worker::WorkloadCache workloads;
    for (const PlannedCell& planned : rounds_.plan().cells) {
      std::string& block = blocks_[rules_.place_name(planned.cell.axes)];
      if (!block.empty()) continue;
      if (rules_.load == "workload.live" && planned.runs())
        check_jobs(planned, rules_.search.loads.back(), workloads);
      for (const auto& [axis, value] : written_axes(planned))
        if (!rules_.is_own(axis)) block += '"' + axis + "\" = " + sweep::to_text(value) + '\n';
    }
    check_confirm(options, backend());
  }

  int run() {
    const analysis::GridFormat format = grid_format(options_);
    const bool is_text = format == analysis::GridFormat::text;
    int code = search();
    if (is_over(code) || rounds_.is_out_of_budget()) print_result(format);
    if (code == kOk && options_.confirm) code = confirm();
    if (!is_over(code)) return rounds_.report_end("capacity", code);
    store_rules();
    rounds_.finish();
    if (options_.confirm) {
      if (is_text) std::cout << '\n';
      print_grid(confirmed(format), format, std::cout);
    }
    if (is_text) std::cout << "Results: " << analysis::terminal_text(archive_) << std::endl;
    return std::ranges::all_of(capacities_, &Capacity::has_answer) ? kOk : kSomeCellsFailed;
  }

 private:
  /// The user's file with the loads that it lacks, and what is searched for.
  void write_sweep() const {
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
  bool ask(const CapacityPlace& place, const Question& question, bool has_answer, Asked& asked) {
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
  Asked judge() {
    for (;;) {
      rounds_.read();
      places_ = analysis::capacity_places(rules_, rounds_.records(), rounds_.archive(), known_);
      capacities_ = analysis::capacities_of(rules_, places_);
      Asked asked{{}, {}, 0, static_cast<int>(capacities_.size()), "rows"};
      asked.decided = static_cast<int>(std::ranges::count_if(capacities_, &Capacity::is_over));
      bool is_planned = true;
      for (const Capacity& each : capacities_)
        for (const Question& question : each.search.asked)
          is_planned = ask(*each.place, question, !each.problem.empty(), asked) && is_planned;
      for (const CapacityPlace& place : places_)
        for (const Question& question : further_[place.name]) {
          is_planned = ask(place, question, false, asked) && is_planned;
          ++asked.to_confirm;
        }
      if (is_planned) return asked;
      write_sweep();
      rounds_.plan(runs_.sweep_file());
    }
  }

  /// Where no run has stored them: limits and prices may change without a further cell.
  void store_rules() {
    const sweep::ArchiveReader* archive = rounds_.archive();
    if (archive == nullptr) return;
    const std::string& text = archive->spec_text();
    if (text.ends_with(search_table_) || text.find(search_table_ + "[[") != text.npos) return;
    write_sweep();
    rounds_.plan(runs_.sweep_file());
    rounds_.store_plan();
  }

  /// Searches until nothing is open or the budget is used up. Returns the exit code.
  int search() {
    const auto judge_and_write = [&] {
      Asked asked = judge();
      if (!asked.open.empty() && !asked.exceeds(options_.budget)) write_sweep();
      return asked;
    };
    return rounds_.search(judge_and_write);
  }

  /// Runs the capacities and the loads above them on another backend, too, within the budget for
  /// all cells. Returns the exit code.
  int confirm() {
    for (const Capacity& each : capacities_) {
      if (!each.problem.empty()) continue;
      const std::size_t last = rules_.search.loads.size() - 1;
      const std::size_t at = each.is_below_least(rules_)
                                 ? 0
                                 : analysis::load_below(rules_.search.loads, each.load.value);
      for (const std::size_t load : {at, std::min(at + 1, last)})
        for (int seed = 0; seed < static_cast<int>(analysis::kFewestRepeats); ++seed)
          further_[each.place->name].insert({load, seed});
    }
    if (const int code = search(); code != kOk) return code;
    std::set<int> cells;
    for (const CapacityPlace& place : places_)
      for (const Question& question : further_.at(place.name))
        cells.insert(rounds_.index_of(*place.cells.at(question).record));
    return cells.empty() ? kOk : rounds_.confirm(*options_.confirm, stem_ + ".confirm.h5", cells);
  }

  /// Both backends at the loads that were confirmed.
  analysis::Grid confirmed(analysis::GridFormat format) const {
    std::vector<CapacityPlace> there;
    std::vector<sweep::CellRecord> records;
    if (const std::string file = stem_ + ".confirm.h5"; fs::exists(file)) {
      sweep::ArchiveReader archive = open_archive(file);
      records = archive.cells();
      analysis::KnownMetrics known;
      there = analysis::capacity_places(rules_, records, &archive, known);
    }
    std::vector<analysis::Confirmation> rows;
    for (const CapacityPlace& place : there) {
      const auto own = std::ranges::find(places_, place.name, &CapacityPlace::name);
      const auto further = further_.find(place.name);
      if (own == places_.end() || further == further_.end()) continue;
      CapacityPlace searched = *own;  // on the seeds that were confirmed
      std::erase_if(searched.cells, [&](const auto& each) {
        const auto found = place.cells.find(each.first);
        return found == place.cells.end() || found->second.metrics.empty();
      });
      std::set<std::size_t> loads;
      for (const Question& each : further->second) loads.insert(each.load);
      for (const std::size_t load : loads)
        for (const analysis::Slo& slo : rules_.slos)
          for (const analysis::Limit& limit : slo.limits) {
            const auto metric = [&](const auto& cell) { return cell.metrics.at(limit.metric); };
            const auto energy = std::mem_fn(&analysis::CapacityCell::measured_j_per_token);
            rows.push_back({&place, load, &limit, estimate_at(searched, load, metric),
                            estimate_at(place, load, metric),
                            estimate_at(place, load, energy).value});
          }
    }
    const auto kind = [](const std::string& of) { return analysis::to_text({of, "-", "-"}); };
    return confirm_grid(rules_, rows, kind(backend()), kind(*options_.confirm), format);
  }

  /// One table with --format csv: that of --confirm, which follows, if there is one.
  void print_result(analysis::GridFormat format) const {
    if (format == analysis::GridFormat::csv && options_.confirm) return;
    print_grid(capacity_grid(rules_, capacities_, format), format, std::cout);
    if (format == analysis::GridFormat::csv) return;
    std::cout << '\n';
    for (const Capacity& each : capacities_)
      if (const std::string note = each.not_monotone(rules_); !note.empty())
        std::cout << "note: " << analysis::terminal_text(each.place->name) << ": " << note << '\n';
    const Asked& asked = rounds_.asked();
    const auto seeds = static_cast<std::size_t>(rules_.search.most_seeds);
    const auto ran =
        std::ranges::count_if(asked.cells, [&](int cell) { return rounds_.at(cell).has_run(); });
    std::cout << analysis::to_text({backend(), "-", "-"}) << ": " << ran << " cells were run, of "
              << places_.size() * rules_.search.loads.size() * seeds
              << " that every load and seed would be\n";
  }

  const std::string& backend() const { return rounds_.plan().backend; }

  const Options& options_;
  const sweep::SweepSpec& spec_;
  analysis::CapacityRules rules_;
  std::string search_table_;    // of the sweep file that it writes
  std::string archive_, stem_;  // stem: without its ending
  ChildRuns runs_;
  Rounds rounds_;
  std::map<std::string, std::string> blocks_;           // by place: its axes as TOML
  std::map<std::string, std::set<std::size_t>> loads_;  // by place: of the plan beyond the axis
  analysis::KnownMetrics known_;
  std::vector<CapacityPlace> places_;
  std::vector<Capacity> capacities_;
  std::map<std::string, std::set<Question>> further_;  // by place: of confirm()
};

}  // namespace

int capacity(const Options& options) {
  check_search(options, "capacity");
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const std::string archive = archive_path(options, spec.name);
  return CapacitySearch(options, spec, assigned(spec, options), archive).run();
}

}  // namespace driver
