#include "driver/tune/runs.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <stdexcept>

#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/commits/archive.hpp"
#include "sweeps/files/child_process.hpp"
#include "workers/profiles/profiles.hpp"
#include "workers/rank/host.hpp"

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

/// A file that is named relative to the sweep file, as an absolute path; other values as they are.
sweep::Value absolute(const sweep::Value& value, const sweep::SweepSpec& spec) {
  namespace fs = std::filesystem;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || fs::path(*text).is_absolute() || text->find('.') == std::string::npos)
    return value;
  const fs::path path = fs::absolute(spec.path).parent_path() / *text;
  return fs::is_regular_file(path) ? path.lexically_normal().string() : value;
}

/// The cells as --only names them.
std::string only_of(const TuneCells& cells) {
  std::vector<std::string> numbers;
  for (int repeat = cells.first; repeat < cells.last; ++repeat)
    numbers.push_back(std::to_string(repeat));
  return "policy=" + sweep::joined(cells.policies, ",") + ",repeat=" + sweep::joined(numbers, ",");
}

/// The cell as it was planned, without its outcome.
sweep::CellRecord planned(const sweep::CellRecord& cell) {
  sweep::CellRecord record;
  record.key = cell.key;
  record.index = cell.index;
  record.label = cell.label;
  record.axes = cell.axes;
  record.config_json = cell.config_json;
  record.backend = cell.backend;
  record.repeat = cell.repeat;
  record.seed = cell.seed;
  if (cell.has_run()) return record;
  record.status = cell.status;
  record.reason = cell.reason;
  return record;
}

/// Whether a line of a run says why the run waits, fails or leaves cells for the next one.
bool tells(const std::string& line) {
  return line.starts_with("kvsweep: ") || line.starts_with("left: ") ||
         line.find(": failed: ") != std::string::npos || line.find(" ended: ") != std::string::npos;
}

struct LogSum {
  double sum = 0;
  std::size_t points = 0;
};

}  // namespace

namespace fs = std::filesystem;
namespace {

void write(const fs::path& path, const std::string& text) {
  analysis::NewFile file(path);
  file.fill([&](std::ostream& out) { out << text; });
  file.commit();
}

std::string list_of(const std::vector<sweep::Param>& values) {
  std::vector<std::string> texts;
  for (const sweep::Param& each : values) texts.push_back(sweep::to_text(each.value));
  return "[" + sweep::joined(texts) + "]";
}

bool has_policy(const sweep::SweepSpec& spec, const char* policy) {
  return std::ranges::any_of(spec.find_axis("policy")->values, [&](const sweep::Param& each) {
    return sweep::same_value(each.value, std::string(policy));
  });
}

/// The sweep with a point for each candidate and for kTailBase, at all values of the other axes.
std::string sweep_text(const sweep::SweepSpec& spec, std::span<const Candidate> candidates) {
  std::string text = spec.text + "\n# The candidates of kvsweep tune.\n[[include]]\npolicy = [";
  std::vector<std::string> names;
  for (const Candidate& each : candidates) names.push_back('"' + each.name + '"');
  if (!has_policy(spec, kTailBase)) names.push_back('"' + std::string(kTailBase) + '"');
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

TuneFolder::TuneFolder(fs::path path, const sweep::SweepSpec& spec, const fs::path& profiles,
                       std::span<const Candidate> candidates)
    : path_(std::move(path)), sweep_file_(path_ / (spec.name + "-tune.toml")) {
  const std::string text = sweep_text(spec, candidates);
  if (fs::exists(path_ / "train.h5") && sweep::load_spec(sweep_file()).text != text)
    throw UsageError(path_.string() +
                     " has the tuning of another sweep file, or of this one as it " +
                     "was: give another -o");
  fs::create_directories(path_ / "profiles");
  copy_profiles(profiles, path_ / "profiles");
  for (const Candidate& each : candidates)
    write(path_ / "profiles/policies" / (each.name + ".toml"),
          policy_text(spec.tune->policy, each.values, "A candidate of kvsweep tune."));
  write(sweep_file_, text);
}

std::string TuneFolder::policy_text(const std::string& policy, const sweep::ParamMap& values,
                                    const std::string& comment) const {
  sweep::ParamMap all;
  for (const auto& [key, param] : values)
    all[key.substr(std::string_view("policy.").size())] = param;
  all.merge(worker::load_policy_profile(path_ / "profiles", policy));
  std::string text = "# " + comment + '\n';
  for (const auto& [key, param] : all) text += key + " = " + sweep::to_text(param.value) + '\n';
  return text;
}

void TuneFolder::write_candidates(const sweep::TuneSpec& tune,
                                  std::span<const Candidate> candidates,
                                  std::span<const Entrant> entrants, const Scores& scores) const {
  std::string text = "policy";
  for (const sweep::TuneKey& key : tune.keys) text += ',' + key.key;
  text += ",seeds,ratio,low95,high95,out\n";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    text += candidates[i].name;
    for (const auto& key : tune.keys)
      text += ',' + analysis::csv_text(sweep::bare_text(candidates[i].values.at(key.key).value));
    const auto mine = scores.find(candidates[i].name), untuned = scores.find(tune.policy);
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

void TuneFolder::write_asked(const std::string& archive, const std::string& only) const {
  write(path_ / (archive + ".asked"), only + '\n');
}

std::string TuneFolder::write_winner(const sweep::TuneSpec& tune, const Candidate& winner,
                                     const std::string& comment) const {
  const fs::path path = path_ / (tune.policy + "-tuned.toml");
  write(path, policy_text(tune.policy, winner.values, comment));
  return path.string();
}

std::vector<std::string> TuneRuns::words(const char* archive, const TuneCells& cells,
                                         const sweep::ParamMap& set) const {
  std::vector<std::string> words = sweep::split(options_.launch.value_or(""), " ");
  words.insert(words.end(), {options_.program, "run", folder_.sweep_file(), "--archive",
                             folder_.file(archive), "--profiles", folder_.file("profiles")});
  words.insert(words.end(), {"--no-prev", "--wait", "60"});
  if (!cells.backend.empty())
    words.insert(words.end(), {"--backend", cells.backend});
  else if (options_.backend || !spec_.backend)
    words.insert(words.end(), {"--backend", options_.backend.value_or("sim")});
  words.insert(words.end(), {"--only", only_of(cells)});
  const auto assign = [&](const std::string& key, const sweep::Value& value) {
    words.insert(words.end(), {"--set", key + '=' + sweep::to_text(value)});
  };
  assign("repeat.n", std::int64_t{tune_.train + tune_.held_out});
  for (const auto& [key, param] : spec_.base)
    if (const sweep::Value file = absolute(param.value, spec_); file != param.value)
      assign(key, file);
  for (const std::string& each : options_.set) words.insert(words.end(), {"--set", each});
  if (options_.policy_plugin)
    assign("policy.plugin", std::filesystem::absolute(*options_.policy_plugin).string());
  for (const auto& [key, param] : set) assign(key, absolute(param.value, spec_));
  return words;
}

int TuneRuns::run(const char* archive, const TuneCells& cells, const sweep::ParamMap& set) const {
  folder_.write_asked(archive, only_of(cells));
  const auto show = [this, is_new = true](const std::string& line) mutable {
    // What follows of a message is indented.
    if (!line.starts_with("  ")) is_new = tells(line) && shown_.insert(line).second;
    if (is_new) std::cerr << analysis::terminal_text(line) << std::endl;
  };
  const sweep::ChildEnd end =
      sweep::run_program(words(archive, cells, set), folder_.file("runs.log"), show);
  if (end.signal == 0) return end.exit_code;
  throw std::runtime_error("a run of the tuning was killed by signal " +
                           std::to_string(end.signal) + "; the same command continues");
}

Scores TuneRuns::scores(const char* archive, const TuneCells& cells) const {
  const sweep::ArchiveReader reader = open_archive(folder_.file(archive));
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
      throw sweep::SpecError(folder_.sweep_file() + ": tune.metric must be above 0, found " +
                             metric + " = " + analysis::exact_number(value) + " in cell " +
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
  const std::string path = folder_.file(archive);
  const sweep::ArchiveReader reader = open_archive(path);
  std::vector<sweep::CellRecord> cells;
  bool changes = false;
  for (const sweep::CellRecord& cell : reader.cells()) {
    if (cell.kept) continue;
    sweep::CellRecord& record = cells.emplace_back(planned(cell));
    const auto entrant = std::ranges::find(entrants, policy_of(cell), &Entrant::policy);
    if (cell.has_run() || record.status != sweep::CellStatus::planned ||
        entrant == entrants.end() || entrant->is_in())
      continue;
    record.status = sweep::CellStatus::excluded;
    record.reason = entrant->why_out;
    changes = true;
  }
  if (!changes) return;
  sweep::ArchiveOptions head;
  head.sweep_name = reader.sweep_name();
  head.spec_text = reader.spec_text();
  head.tool_version = reader.tool_version();
  const worker::Host host = worker::detect_host();
  head.self = {host.name, host.pid, options_.slurm_job};
  head.keep_previous = false;
  sweep::FileOps files;
  sweep::Archive(path, head, std::move(cells), files);
}

std::string TuneRuns::metric_of(const std::vector<analysis::ConfiguredCell>& cells) const {
  try {
    return analysis::known_metric(cells, tune_.metric);
  } catch (const std::invalid_argument& error) {
    throw sweep::SpecError(sweep::to_text(tune_.where) + ": tune.metric: " + error.what());
  }
}

}  // namespace driver
