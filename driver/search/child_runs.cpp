#include "driver/search/child_runs.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/plan/asked_file.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/process/child_process.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// A file that is named relative to the sweep file, as an absolute path; other values as they are.
sweep::Value absolute(const sweep::Value& value, const sweep::SweepSpec& spec) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || fs::path(*text).is_absolute() || text->find('.') == std::string::npos)
    return value;
  const fs::path path = fs::absolute(spec.path).parent_path() / *text;
  return fs::is_regular_file(path) ? path.lexically_normal().string() : value;
}

/// Whether there is a program of this name, as a shell looks for it.
bool is_program(const std::string& name, const std::string& search_path) {
  for (const fs::path folder : sweep::split(name.find('/') != name.npos ? "." : search_path, ":"))
    if (const fs::path file = folder / name;
        fs::is_regular_file(file) && ::access(file.c_str(), X_OK) == 0)
      return true;
  return false;
}

/// Whether a line of a run says why the run waits, fails or leaves cells for the next one.
bool tells(const std::string& line) {
  return line.starts_with("kvsweep: ") || line.starts_with("left: ") ||
         line.find(": failed: ") != std::string::npos || line.find(" ended: ") != std::string::npos;
}

/// Runs a program, `words`, with its output behind that of the file `log`. It is told to end
/// (SIGTERM) when this process does. Exit code 127, with the reason in the log: it cannot be
/// started. Each line that is added to the log meanwhile is given to `on_line`, without its end.
sweep::ChildEnd run_program(std::vector<std::string> words, const std::string& log,
                            const std::function<void(const std::string&)>& on_line) {
  sweep::ExecTexts argv(std::move(words));
  const sweep::Descriptor written(log, O_RDONLY | O_CREAT, 0644);
  ::lseek(written.get(), 0, SEEK_END);
  sweep::ChildProcess child([&] {
    constexpr int kNotStarted = 127;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const sweep::Descriptor file(
        ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (::dup2(file.get(), STDOUT_FILENO) < 0 || ::dup2(file.get(), STDERR_FILENO) < 0)
      return kNotStarted;
    ::execvp(*argv.data(), argv.data());
    std::perror(*argv.data());
    return kNotStarted;
  });
  std::string text;
  for (;;) {
    const std::optional<sweep::ChildEnd> end = child.end_now();
    text += written.read();
    for (std::size_t line; (line = text.find('\n')) != text.npos; text.erase(0, line + 1))
      on_line(text.substr(0, line));
    if (end) return *end;
    ::usleep(20'000);
  }
}

}  // namespace

ChildRuns::ChildRuns(const Options& options, const sweep::SweepSpec& spec, std::string sweep_file,
                     std::string log)
    : options_(options),
      spec_(spec),
      sweep_file_(std::move(sweep_file)),
      log_(std::move(log)),
      had_log_(fs::exists(log_)) {
  if (!options.launch) return;
  const std::vector<std::string> words = sweep::split(*options.launch, " ");
  const auto first = std::ranges::find_if_not(words, &std::string::empty);
  const std::string program = first == words.end() ? "" : *first;
  if (!is_program(program, options.search_path))
    throw UsageError("--launch: there is no program \"" + program + "\", as mpirun is one");
}

std::vector<std::string> ChildRuns::assignments(const sweep::ParamMap& set) const {
  std::vector<std::string> assignments;
  const auto assign = [&](const std::string& key, const sweep::Value& value) {
    assignments.push_back(key + '=' + sweep::to_text(value));
  };
  for (const auto& [key, param] : spec_.base)
    if (const sweep::Value file = absolute(param.value, spec_); file != param.value)
      assign(key, file);
  assignments.insert(assignments.end(), options_.set.begin(), options_.set.end());
  for (const auto& [key, param] : set) assign(key, absolute(param.value, spec_));
  return assignments;
}

std::vector<std::string> ChildRuns::words(const ChildRun& child) const {
  std::vector<std::string> words = sweep::split(options_.launch.value_or(""), " ");
  words.insert(words.end(),
               {options_.program, "run", sweep_file_, "--archive", child.archive, "--profiles",
                options_.profiles.string(), "--no-prev", "--wait", "60"});
  words.insert(words.end(), {"--backend", child.backend.empty() ? backend() : child.backend});
  for (const std::string& each : child.only) words.insert(words.end(), {"--only", each});
  for (const std::string& each : assignments(child.set)) words.insert(words.end(), {"--set", each});
  words.insert(words.end(), child.more.begin(), child.more.end());
  return words;
}

std::string ChildRuns::backend() const {
  if (options_.backend) return *options_.backend;
  return spec_.backend ? sweep::bare_text(spec_.backend->value) : "sim";
}

/// The runs' file begins with the user's, so places in it are places there.
std::string ChildRuns::with_users_places(std::string line) const {
  const std::string place = sweep_file_ + ':';
  const std::size_t at = line.find(place);
  if (at == std::string::npos ||
      std::atoi(line.c_str() + at + place.size()) > std::ranges::count(spec_.text, '\n'))
    return line;
  return line.replace(at, sweep_file_.size(), spec_.path);
}

int ChildRuns::run(const ChildRun& child) const {
  const auto show = [this, is_new = true](const std::string& printed) mutable {
    const std::string line = with_users_places(printed);
    // The later lines of a message are indented.
    if (!line.starts_with("  ")) is_new = tells(line) && shown_.insert(line).second;
    if (!is_new) return;
    shown_.insert(line);
    std::cerr << analysis::terminal_text(line) << std::endl;
  };
  const sweep::ChildEnd end = run_program(words(child), log_, show);
  if (end.signal == 0) return end.exit_code;
  throw std::runtime_error("a run of the search was killed by signal " +
                           std::to_string(end.signal) + "; the same command continues");
}

void ChildRuns::remove_traces(const std::string& archive) const {
  constexpr std::size_t kLastLines = 20;
  std::vector<std::string> lines;
  std::ifstream log(log_);
  for (std::string line; std::getline(log, line);)
    if (std::string told = with_users_places(line); !shown_.contains(told))
      lines.push_back(std::move(told));
  const std::size_t skipped = lines.size() - std::min(lines.size(), kLastLines);
  for (const std::string& line : std::span(lines).subspan(skipped))
    std::cerr << "  " << analysis::terminal_text(line) << '\n';
  std::error_code ignored;
  if (!had_log_ && skipped == 0) fs::remove(log_, ignored);
  fs::remove(asked_file(archive), ignored);
  if (!fs::equivalent(sweep_file_, spec_.path, ignored)) fs::remove(sweep_file_, ignored);
}

}  // namespace driver
