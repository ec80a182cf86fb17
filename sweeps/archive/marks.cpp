#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <ranges>
#include <sstream>

#include "sweeps/archive/archive.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/marks.hpp"
#include "sweeps/archive/writing.hpp"

namespace sweep {

namespace {

constexpr std::string_view kMarkEnd = ".run";

int number(const std::string& text) {
  return static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
}

/// Marks of each cell that the mark `first` names. Only the cell that ended the process, if the
/// mark says which did, is to blame for it.
std::vector<RunMark> marks_of_all(const RunMark& first, const std::string& to_blame) {
  std::vector<std::string> keys = first.with;
  keys.insert(keys.begin(), first.key);
  std::vector<RunMark> marks;
  for (const std::string& key : keys) {
    RunMark& mark = marks.emplace_back(first);
    mark.key = key;
    if (key == to_blame) mark.with.clear();
  }
  return marks;
}

/// Parses lines "name=value"; the last line with a name counts. The last line may be truncated.
std::vector<RunMark> parse_mark(const std::string& key, const std::string& text) {
  RunMark mark;
  mark.key = key;
  std::string to_blame;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "attempt") mark.attempt = number(value);
    if (name == "deaths") mark.deaths = number(value);
    if (name == "host") mark.host = value;
    if (name == "pid") mark.pid = number(value);
    if (name == "start") mark.start_ticks = std::strtoll(value.c_str(), nullptr, 10);
    if (name == "phase") mark.phase = value;
    if (name == "drives") mark.drives = value == "1";
    if (name == "stopped") mark.stopped = value;
    if (name == "died") mark.died = value;
    if (name == "by") to_blame = value;
    if (name == "with") mark.with.push_back(value);
  }
  return marks_of_all(mark, to_blame);
}

}  // namespace

std::vector<RunMark> run_marks(const std::string& archive) {
  const std::string folder = resolved(archive) + ".d";
  std::vector<RunMark> marks;
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(kMarkEnd)) continue;
    const std::string key = name.substr(0, name.size() - kMarkEnd.size());
    try {
      for (RunMark& mark : parse_mark(key, file_bytes(folder + "/" + name)))
        marks.push_back(std::move(mark));
    } catch (const FileError& error) {
      if (error.error_number != ENOENT) throw;  // else committed since the folder was listed
    }
  }
  return marks;
}

int deaths_of(const RunMark& mark) {
  const bool counts = !mark.died.empty() || (mark.drives && mark.stopped.empty());
  return mark.deaths + (counts && mark.with.empty() ? 1 : 0);
}

std::optional<std::int64_t> process_start(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // The process name before the state may contain ')', so the last one counts.
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
  char state = 0;
  fields >> state;
  if (state == 'Z' || state == 'X') return 0;  // a zombie, or dead
  constexpr int kFieldsBetween = 18;           // man 5 proc: the state is field 3, the start 22
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  std::int64_t ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  return ticks;
}

bool process_is_gone(const RunMark& mark, const std::string& this_host) {
  if (mark.host != this_host || mark.pid <= 0) return false;
  if (::kill(static_cast<pid_t>(mark.pid), 0) != 0 && errno == ESRCH) return true;
  const std::optional<std::int64_t> start = process_start(mark.pid);
  if (!start) return false;  // /proc hides it
  return *start == 0 || (mark.start_ticks > 0 && *start != mark.start_ticks);
}

std::string Archive::mark_path(const std::string& key) const {
  return in_folder(key + std::string(kMarkEnd));
}

/// Whatever ends at any instant, this process or the power, the old mark or the new one is there,
/// whole.
void Archive::write_mark(const RunMark& mark) {
  std::string text = "attempt=" + std::to_string(mark.attempt) +
                     "\ndeaths=" + std::to_string(mark.deaths) + "\nhost=" + mark.host +
                     "\npid=" + std::to_string(mark.pid) + "\nphase=" + mark.phase +
                     "\ndrives=" + (mark.drives ? "1" : "0") +
                     "\nstart=" + std::to_string(mark.start_ticks) + "\n";
  for (const std::string& key : mark.with) text += "with=" + key + '\n';
  if (!mark.stopped.empty()) text += "stopped=" + mark.stopped + '\n';
  const std::string path = mark_path(mark.key), temporary = temporary_name(path);
  writing(path_, [&] {
    try {
      files_.write(temporary, text);
      publish(files_, temporary, path);
    } catch (const FileError&) {
      discard(temporary);
      throw;
    }
  });
}

void Archive::add_to_mark(const std::string& key, const std::string& name,
                          const std::string& value) {
  writing(path_, [&] {
    files_.append(mark_path(key), name + '=' + value + '\n');
    files_.sync(mark_path(key));
  });
}

void Archive::remove_mark(const std::string& key) {
  writing(path_, [&] { files_.remove(mark_path(key)); });
}

void Archive::read_marks() {
  for (const std::string& name : names_in(folder_)) {
    if (!name.ends_with(kMarkEnd)) continue;
    const std::string key = name.substr(0, name.size() - kMarkEnd.size());
    std::vector<RunMark> marks = parse_mark(key, file_bytes(in_folder(name)));
    const bool shared = marks.size() > 1;
    std::erase_if(marks, [this](const RunMark& mark) {
      const auto row = row_of_.find(mark.key);
      return row == row_of_.end() ||
             index_->cells[static_cast<std::size_t>(row->second)].has_result(options_.record);
    });
    if (shared) keep_apart(marks);
    // The process may have died between the commit and the removal of the mark.
    if (std::ranges::find(marks, key, &RunMark::key) == marks.end()) files_.remove(in_folder(name));
    deaths_.insert(deaths_.end(), marks.begin(), marks.end());
  }
}

/// Gives each cell of a shared mark a mark of its own, which its next attempt replaces. The shared
/// mark itself is replaced last: it is the only one that names them all.
void Archive::keep_apart(std::vector<RunMark>& marks) {
  for (RunMark& mark : std::views::reverse(marks)) {
    mark.deaths = deaths_of(mark);
    mark.with.clear();
    mark.died.clear();
    mark.stopped = "1";  // what it tells of its process is counted
    write_mark(mark);
  }
}

}  // namespace sweep
