#include "driver/tune/runs.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/text/new_file.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "sweeps/archive/reader.hpp"
#include "workers/profiles/profiles.hpp"

namespace driver {
namespace {

std::string policy_of(const sweep::CellRecord& cell) {
  const sweep::Value* policy = sweep::value_on(cell.axes, "policy");
  return policy == nullptr ? "" : sweep::bare_text(*policy);
}

/// The cell's values on the axes other than the policy.
std::string point_of(const sweep::CellRecord& cell) {
  sweep::AxisValues axes = cell.axes;
  std::erase_if(axes, [](const auto& axis) { return axis.first == "policy"; });
  return sweep::to_text(axes);
}

/// The cells as --only names them.
std::string only_of(const TuneCells& cells) {
  std::vector<std::string> numbers;
  for (int repeat = cells.first; repeat < cells.last; ++repeat)
    numbers.push_back(std::to_string(repeat));
  return "policy=" + sweep::joined(cells.policies, ",") + ",repeat=" + sweep::joined(numbers, ",");
}

struct LogSum {
  double sum = 0;
  std::size_t points = 0;
};

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  analysis::write_file(path, [&](std::ostream& out) { out << text; });
}

std::string list_of(const std::vector<sweep::Param>& values) {
  std::vector<std::string> texts;
  for (const sweep::Param& each : values) texts.push_back(sweep::to_text(each.value));
  return "[" + sweep::joined(texts) + "]";
}

/// The sweep with a point for each candidate at all values of the other axes.
std::string sweep_text(const sweep::SweepSpec& spec, std::span<const Candidate> candidates) {
  std::string text = spec.text + "\n# The candidates of kvsweep tune.\n[[include]]\npolicy = [";
  std::vector<std::string> names;
  for (const Candidate& each : candidates) names.push_back('"' + each.name + '"');
  text += sweep::joined(names) + "]\n";
  for (const sweep::Axis& axis : spec.axes)
    if (axis.name != "policy") text += '"' + axis.name + "\" = " + list_of(axis.values) + '\n';
  return text;
}

void copy_profiles(const fs::path& from, const fs::path& to) {
  for (const char* name : {"gpus", "models", "policies", "published"})
    if (fs::exists(from / name))
      fs::copy(from / name, to / name,
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}

}  // namespace

TuneRuns::TuneRuns(const Options& options, const sweep::SweepSpec& spec,
                   std::span<const Candidate> candidates)
    : options_(options),
      tune_(*spec.tune),
      name_(spec.name),
      path_(*options.output),
      runs_(options, spec, sweep_file(), file("profiles"), file("runs.log")) {
  const std::string text = sweep_text(spec, candidates);
  if (fs::exists(path_ / "train.h5") && sweep::load_spec(sweep_file()).text != text)
    throw UsageError(path_.string() +
                     " has the tuning of another sweep file, or of this one as it " +
                     "was: give another -o");
  fs::create_directories(path_ / "profiles");
  copy_profiles(options.profiles, path_ / "profiles");
  for (const Candidate& each : candidates)
    write(path_ / "profiles/policies" / (each.name + ".toml"),
          policy_text(each.values, "A candidate of kvsweep tune."));
  write(sweep_file(), text);
}

std::string TuneRuns::policy_text(const sweep::ParamMap& values, const std::string& comment) const {
  sweep::ParamMap all;
  for (const auto& [key, param] : values)
    all[key.substr(std::string_view("policy.").size())] = param;
  all.merge(worker::load_policy_profile(path_ / "profiles", tune_.policy));
  std::string text = "# " + comment + '\n';
  for (const auto& [key, param] : all) text += key + " = " + sweep::to_text(param.value) + '\n';
  return text;
}

void TuneRuns::write_candidates(std::span<const Candidate> candidates,
                                std::span<const Entrant> entrants, const Scores& scores) const {
  std::string text = "policy";
  for (const sweep::TuneKey& key : tune_.keys) text += ',' + key.key;
  text += ",seeds,ratio,low95,high95,out\n";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    text += candidates[i].name;
    for (const auto& key : tune_.keys)
      text += ',' + analysis::csv_text(sweep::bare_text(candidates[i].values.at(key.key).value));
    const auto mine = scores.find(candidates[i].name), untuned = scores.find(tune_.policy);
    analysis::Ratio ratio;
    if (mine != scores.end() && untuned != scores.end())
      ratio = analysis::ratio_of(mine->second, untuned->second);
    text += ',' + std::to_string(ratio.repeats);
    for (const double figure : {ratio.value, ratio.interval.low, ratio.interval.high})
      text += ',' + analysis::exact_number(figure);
    text += ',' + analysis::csv_text(entrants[i + 1].why_out) + '\n';
  }
  write(path_ / "candidates.csv", text);
}

std::string TuneRuns::write_winner(const Candidate& winner, const std::string& comment) const {
  const fs::path path = path_ / (tune_.policy + "-tuned.toml");
  write(path, policy_text(winner.values, comment));
  return path.string();
}

int TuneRuns::run(const char* archive, const TuneCells& cells, sweep::ParamMap set) const {
  set["repeat.n"] = {std::int64_t{tune_.train + tune_.held_out}, {}};
  const ChildRun child{file(archive), {only_of(cells)}, {}, std::move(set)};
  write_asked(child.archive, child.only);
  return runs_.run(child);
}

Scores TuneRuns::scores(const char* archive, const TuneCells& cells) const {
  const sweep::ArchiveReader reader = open_archive(file(archive));
  std::vector<analysis::ConfiguredCell> ours;
  for (const sweep::CellRecord& record : reader.cells())
    if (!record.kept && record.repeat >= cells.first && record.repeat < cells.last &&
        std::ranges::find(cells.policies, policy_of(record)) != cells.policies.end())
      ours.emplace_back(record);
  const std::string metric = metric_of(ours);
  std::map<std::string, std::set<std::string>> policies_at;
  for (const auto& cell : ours) policies_at[point_of(*cell.record)].insert(policy_of(*cell.record));
  std::erase_if(policies_at,
                [&](const auto& at) { return at.second.size() < cells.policies.size(); });
  std::map<std::pair<std::string, std::int64_t>, LogSum> sums;
  for (const analysis::ConfiguredCell& cell : ours) {
    const double value = cell.figure(metric);
    if (std::isnan(value) || !policies_at.contains(point_of(*cell.record))) continue;
    if (value <= 0)
      throw sweep::SpecError(sweep_file() + ": tune.metric must be above 0, found " + metric +
                             " = " + analysis::exact_number(value) + " in cell " +
                             std::to_string(cell.record->index));
    LogSum& sum = sums[{policy_of(*cell.record), cell.record->seed}];
    sum.sum += std::log(value);
    ++sum.points;
  }
  const bool more_is_better = analysis::direction_of(metric) == analysis::Direction::higher;
  Scores scores;
  for (const auto& [at, sum] : sums) {
    const double mean = std::exp(sum.sum / static_cast<double>(sum.points));
    if (sum.points == policies_at.size())
      scores[at.first][at.second] = more_is_better ? 1 / mean : mean;
  }
  return scores;
}

void TuneRuns::exclude(const char* archive, std::span<const Entrant> entrants) const {
  exclude_cells(options_, file(archive), [&](const sweep::CellRecord& cell) {
    const auto entrant = std::ranges::find(entrants, policy_of(cell), &Entrant::policy);
    return entrant == entrants.end() ? "" : entrant->why_out;
  });
}

std::string TuneRuns::metric_of(const std::vector<analysis::ConfiguredCell>& cells) const {
  try {
    return analysis::known_metric(cells, tune_.metric);
  } catch (const std::invalid_argument& error) {
    throw sweep::SpecError(sweep::to_text(tune_.where) + ": tune.metric: " + error.what());
  }
}

}  // namespace driver
