#include "driver/tune/runs.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>
#include <stdexcept>

#include "driver/command_line/archive_argument.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {
namespace {

/// Runs a program with its output behind that of a file; its progress is shown. Returns its exit
/// code. Throws std::runtime_error when it cannot be started or is killed.
int exit_code_of(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + words.front());
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::runtime_error("cannot wait for " + words.front());
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  throw std::runtime_error("a run of the tuning was killed by signal " +
                           std::to_string(WTERMSIG(status)) + "; the same command continues");
}

/// The cell's values on the axes other than the policy.
std::string point_of(const sweep::CellRecord& cell) {
  sweep::AxisValues axes = cell.axes;
  std::erase_if(axes, [](const auto& axis) { return axis.first == "policy"; });
  return sweep::to_text(axes);
}

/// Assignments for the files that the sweep names relative to itself.
std::vector<std::string> files_of(const sweep::SweepSpec& spec) {
  namespace fs = std::filesystem;
  std::vector<std::string> assignments;
  for (const auto& [key, param] : spec.base) {
    const auto* text = std::get_if<std::string>(&param.value);
    if (text == nullptr || fs::path(*text).is_absolute()) continue;
    const fs::path path = fs::absolute(spec.path).parent_path() / *text;
    if (fs::is_regular_file(path))
      assignments.push_back(key + '=' + sweep::to_text(sweep::Value(path.string())));
  }
  return assignments;
}

struct LogSum {
  double sum = 0;
  std::size_t points = 0;
};

}  // namespace

std::vector<std::string> TuneRuns::words(const char* archive, const TuneCells& cells,
                                         const sweep::ParamMap& set) const {
  std::vector<std::string> words = sweep::split(options_.launch.value_or(""), " ");
  std::vector<std::string> numbers;
  for (int repeat = cells.first; repeat < cells.last; ++repeat)
    numbers.push_back(std::to_string(repeat));
  words.insert(words.end(), {options_.program, "run", folder_.sweep_file(), "--archive",
                             folder_.file(archive), "--profiles", folder_.file("profiles")});
  words.insert(words.end(), {"--backend", options_.backend.value_or("sim")});
  words.insert(words.end(), {"--only", "policy=" + sweep::joined(cells.policies, ",") +
                                           ",repeat=" + sweep::joined(numbers, ",")});
  words.insert(words.end(), {"--set", "repeat.n=" + std::to_string(tune_.train + tune_.held_out)});
  for (const std::string& each : files_of(spec_)) words.insert(words.end(), {"--set", each});
  for (const std::string& each : options_.set) words.insert(words.end(), {"--set", each});
  for (const auto& [key, param] : set)
    words.insert(words.end(), {"--set", key + '=' + sweep::to_text(param.value)});
  return words;
}

int TuneRuns::run(const char* archive, const TuneCells& cells, const sweep::ParamMap& set) const {
  return exit_code_of(words(archive, cells, set), folder_.file("runs.log"));
}

Scores TuneRuns::scores(const char* archive, const TuneCells& cells) const {
  const sweep::ArchiveReader reader = open_archive(folder_.file(archive));
  const bool more_is_better = analysis::direction_of(tune_.metric) == analysis::Direction::higher;
  std::set<std::string> points;
  std::map<std::pair<std::string, std::int64_t>, LogSum> sums;
  for (const sweep::CellRecord& record : reader.cells()) {
    const sweep::Value* policy = sweep::value_on(record.axes, "policy");
    if (policy == nullptr || record.repeat < cells.first || record.repeat >= cells.last ||
        std::ranges::find(cells.policies, sweep::bare_text(*policy)) == cells.policies.end())
      continue;
    points.insert(point_of(record));
    const double value = analysis::ConfiguredCell(record).figure(tune_.metric);
    if (std::isnan(value)) continue;
    if (value <= 0)
      throw sweep::SpecError(folder_.sweep_file() + ": tune.metric must be above 0, found " +
                             tune_.metric + " = 0 in cell " + std::to_string(record.index));
    LogSum& sum = sums[{sweep::bare_text(*policy), record.seed}];
    sum.sum += std::log(value);
    ++sum.points;
  }
  Scores scores;
  for (const auto& [at, sum] : sums) {
    const double mean = std::exp(sum.sum / static_cast<double>(sum.points));
    if (sum.points == points.size()) scores[at.first][at.second] = more_is_better ? 1 / mean : mean;
  }
  return scores;
}

}  // namespace driver
