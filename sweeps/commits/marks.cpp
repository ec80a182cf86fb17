#include "sweeps/commits/marks.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <sstream>
#include <string_view>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/process/child_process.hpp"
#include "sweeps/text/text.hpp"

namespace sweep {
namespace {

template <class Number>
void read_number(std::string_view text, Number& number) {
  number = number_from<Number>(text).value_or(number);
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
    if (name == "attempt") read_number(value, mark.attempt);
    if (name == "deaths") read_number(value, mark.deaths);
    if (name == "host") mark.host = value;
    if (name == "pid") read_number(value, mark.pid);
    if (name == "start") read_number(value, mark.start_ticks);
    if (name == "phase") mark.phase = value;
    if (name == "drives") mark.alone = value == "1";
    if (name == "stopped") mark.stopped = value;
    if (name == "died") mark.died = value;
    if (name == "by") to_blame = value;
    if (name == "with") mark.with.push_back(value);
  }
  return marks_of_all(mark, to_blame);
}

/// Cells that have a mark.
std::vector<std::string> marked_cells(const std::string& archive) {
  std::vector<std::string> keys;
  for (const std::string& name : names_in(archive + ".d"))
    if (name.ends_with(kMarkEnd)) keys.push_back(name.substr(0, name.size() - kMarkEnd.size()));
  return keys;
}

}  // namespace

std::vector<RunMark> run_marks(const std::string& archive) {
  const std::string path = resolved(archive);
  std::vector<RunMark> marks;
  for (const std::string& key : marked_cells(path)) {
    try {
      for (RunMark& mark : parse_mark(key, file_bytes(path + ".d/" + key + std::string(kMarkEnd))))
        marks.push_back(std::move(mark));
    } catch (const FileError& error) {
      if (error.error_number != ENOENT) throw;  // else committed since the folder was listed
    }
  }
  return marks;
}

int deaths_of(const RunMark& mark) {
  const bool counts = !mark.died.empty() || (mark.alone && mark.stopped.empty());
  return mark.deaths + (counts && mark.with.empty() ? 1 : 0);
}

std::optional<std::int64_t> process_start(long pid) {
  const std::optional<ProcessFacts> facts = facts_of(static_cast<pid_t>(pid));
  if (!facts) return std::nullopt;
  return facts->state == 'Z' || facts->state == 'X' ? 0 : facts->start_ticks;
}

bool process_is_gone(const RunMark& mark, const std::string& this_host) {
  if (mark.host != this_host || mark.pid <= 0) return false;
  if (::kill(static_cast<pid_t>(mark.pid), 0) != 0 && errno == ESRCH) return true;
  const std::optional<std::int64_t> start = process_start(mark.pid);
  if (!start) return false;  // /proc hides it
  return *start == 0 || (mark.start_ticks > 0 && *start != mark.start_ticks);
}

std::string Marks::path(const std::string& key) const {
  return archive_ + ".d/" + key + std::string(kMarkEnd);
}

void Marks::write(const RunMark& mark) {
  std::string text =
      "attempt=" + std::to_string(mark.attempt) + "\ndeaths=" + std::to_string(mark.deaths) +
      "\nhost=" + mark.host + "\npid=" + std::to_string(mark.pid) + "\nphase=" + mark.phase +
      "\ndrives=" + (mark.alone ? "1" : "0") + "\nstart=" + std::to_string(mark.start_ticks) + "\n";
  for (const std::string& key : mark.with) text += "with=" + key + '\n';
  if (!mark.stopped.empty()) text += "stopped=" + mark.stopped + '\n';
  writing(archive_, [&] { replace_file(files_, path(mark.key), text); });
}

void Marks::add(const std::string& key, const std::string& name, const std::string& value) {
  writing(archive_, [&] {
    files_.append(path(key), name + '=' + value + '\n');
    files_.sync(path(key));
  });
}

void Marks::remove(const std::string& key) {
  writing(archive_, [&] { files_.remove(path(key)); });
}

std::vector<RunMark> Marks::take_over(const std::function<bool(const std::string&)>& is_open) {
  std::vector<RunMark> all;
  for (const std::string& key : marked_cells(archive_)) {
    std::vector<RunMark> marks = parse_mark(key, file_bytes(path(key)));
    const bool shared = marks.size() > 1;
    std::erase_if(marks, [&](const RunMark& mark) { return !is_open(mark.key); });
    // The shared mark itself is replaced last: it is the only one that names them all.
    for (RunMark& mark : std::views::reverse(marks)) {
      if (!shared) break;
      mark.deaths = deaths_of(mark);
      mark.with.clear();
      mark.died.clear();
      mark.stopped = "1";  // what it tells of its process is counted
      write(mark);
    }
    // The process may have died between the commit and the removal of the mark.
    if (std::ranges::find(marks, key, &RunMark::key) == marks.end()) files_.remove(path(key));
    all.insert(all.end(), marks.begin(), marks.end());
  }
  return all;
}

}  // namespace sweep
