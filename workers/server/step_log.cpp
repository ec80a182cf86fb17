#include "workers/server/step_log.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "workers/engine/base/clock.hpp"
#include "workers/server/dialect/shallow_json.hpp"
#include "workers/server/http/bodies.hpp"

namespace server {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{1} << 20, kLongestId = 1024, kMostShown = 80;

/// A count from 0 on. Throws std::invalid_argument for anything else.
int count_of(const json& value) {
  constexpr auto kMost = std::numeric_limits<int>::max();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{kMost})
    return value.get<int>();
  throw std::invalid_argument("a count is " + shown(value.dump(), 40));
}

int count_at(const json& line, const char* name) {
  const auto found = line.find(name);
  return found == line.end() ? 0 : count_of(*found);
}

double seconds_at(const json& line, const char* name) {
  const json& value = line.at(name);
  if (!value.is_number()) throw std::invalid_argument(std::string(name) + " is no number");
  return value.get<double>();
}

/// The list of this name; empty where the line has none.
const json& list_at(const json& line, const char* name) {
  static const json kNone = json::array();
  const auto found = line.find(name);
  if (found == line.end()) return kNone;
  if (!found->is_array()) throw std::invalid_argument(std::string(name) + " is no list");
  return *found;
}

/// Lines of a file, however long they are.
class Lines {
 public:
  explicit Lines(std::istream& file) : file_(file) {}

  void go_to(std::int64_t position) {
    file_.seekg(position);
    end_ = position;
  }
  /// The next one, without its end; nothing behind the last. Throws std::invalid_argument for one
  /// that is too long or has no end.
  std::optional<std::string_view> next() {
    file_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    const auto read = static_cast<std::size_t>(file_.gcount());
    begin_ = std::exchange(end_, end_ + static_cast<std::int64_t>(read));
    const bool has_end = !file_.fail() && !file_.eof();
    line_ = {buffer_.data(), has_end ? read - 1 : read};
    if (read > 0 && !has_end)
      throw std::invalid_argument(file_.eof() ? "it is cut off" : "it is too long");
    return read > 0 ? std::optional(line_) : std::nullopt;
  }
  /// The last one, also where it was refused, and its position.
  std::string_view last() const { return line_; }
  std::int64_t begin() const { return begin_; }

 private:
  std::istream& file_;
  std::vector<char> buffer_ = std::vector<char>(kLongestLine + 2);
  std::string_view line_;
  std::int64_t begin_ = 0, end_ = 0;
};

/// The number of the line that stands at a position of a file.
std::int64_t line_number(const std::string& path, std::int64_t position) {
  std::ifstream file(path, std::ios::binary);
  std::int64_t number = 1;
  for (std::istreambuf_iterator<char> at(file), end; position > 0 && at != end; ++at, --position)
    number += *at == '\n' ? 1 : 0;
  return number;
}

/// Follows the requests from line to line.
class Follower {
 public:
  Follower(StepLog& log, double since_s) : log_(log), since_s_(since_s) {}

  void take(const json& line) {
    const json ids = line.value("ids", json::object());
    for (const auto& [number, id] : ids.items())
      introduce(std::stol(number), id.get<std::string>());
    const double t_s = seconds_at(line, "t");
    log_.idle = count_of(line.at("run")) == 0 && count_of(line.at("wait")) == 0;
    if (t_s < std::exchange(last_s_, t_s)) throw std::invalid_argument("its time goes back");
    if (t_s < since_s_) return;
    LoggedStep step;
    step.plan_s = count_at(line, "plan_us") * 1e-6;
    step.running = count_of(line.at("run"));
    step.waiting = count_of(line.at("wait"));
    preempt(line, step);
    admit(line, "new", Taken::fresh);
    admit(line, "resumed", Taken::resumed);
    schedule(line, step);
    for (const json& each : list_at(line, "loads"))
      step.loads.push_back({request(each.at(0)).index, count_of(each.at(1))});
    step.stored_blocks = count_at(line, "stores");
    for (const json& number : list_at(line, "finished")) live_.erase(count_of(number));
    calls_s_.push_back(t_s);
    if (step.shares.empty() && step.preempted.empty() && step.loads.empty() &&
        step.stored_blocks == 0)
      return;
    call_of_.push_back(calls_s_.size() - 1);
    log_.steps.push_back(std::move(step));
  }

  /// Gives each step the time of its own batch, from one call of schedule() to the next: the call
  /// that scheduled it or, where it was made while the batch before ran, the one behind that.
  void end() {
    const std::size_t behind = log_.async ? 1 : 0;
    std::size_t known = 0;
    for (; known < log_.steps.size(); ++known) {
      LoggedStep& step = log_.steps[known];
      const std::size_t start = call_of_[known] + (step.shares.empty() ? 0 : behind);
      const std::size_t end = start + (step.shares.empty() ? 0 : 1);
      if (end >= calls_s_.size()) break;
      step.start_s = calls_s_[start];
      step.end_s = calls_s_[end];
    }
    if (known < log_.steps.size() && log_.problem.empty())
      log_.problem = "it ends before the last batch does";
    log_.steps.resize(known);
  }

 private:
  struct Request {
    std::size_t index = 0;  // in StepLog::ids
    int computed = 0;
    Taken taken = Taken::again;  // until it is scheduled
  };

  void introduce(long number, const std::string& id) {
    if (id.size() > kLongestId) throw std::invalid_argument("an id is too long");
    live_[number] = {log_.ids.size()};
    log_.ids.push_back(id);
  }

  Request& request(const json& number) {
    const auto found = live_.find(count_of(number));
    if (found == live_.end())
      throw std::invalid_argument("request " + number.dump() + " has no id");
    return found->second;
  }

  void preempt(const json& line, LoggedStep& step) {
    for (const json& number : list_at(line, "preempted")) {
      Request& victim = request(number);
      step.preempted.push_back({victim.index, std::exchange(victim.computed, 0)});
    }
  }

  void admit(const json& line, const char* name, Taken taken) {
    for (const json& each : list_at(line, name)) {
      Request& admitted = request(each.at(0));
      admitted.computed = count_of(each.at(1));
      admitted.taken = taken;
    }
  }

  void schedule(const json& line, LoggedStep& step) {
    int total = 0;
    for (const json& each : list_at(line, "batch")) {
      const int tokens = each.is_array() ? count_of(each.at(1)) : 1;
      Request& found = request(each.is_array() ? each.at(0) : each);
      if (tokens > std::numeric_limits<int>::max() - std::max(found.computed, total))
        throw std::invalid_argument("a request has too many tokens");
      step.shares.push_back(
          {found.index, std::exchange(found.taken, Taken::again), tokens, found.computed});
      found.computed += tokens;
      total += tokens;
    }
    if (total != count_at(line, "tokens"))
      throw std::invalid_argument("the batch has " + std::to_string(total) +
                                  " tokens, and tokens is " +
                                  std::to_string(count_at(line, "tokens")));
  }

  StepLog& log_;
  double since_s_;
  double last_s_ = std::numeric_limits<double>::lowest();
  std::unordered_map<long, Request> live_;  // by number
  std::vector<double> calls_s_;             // of schedule()
  std::vector<std::size_t> call_of_;        // by step
};

/// The first line says what the others are.
void take_head(Lines& lines, StepLog& log) {
  const auto first = lines.next();
  if (!first) throw std::invalid_argument("it is empty, or is not there");
  const json head = object_of(*first, "it");
  const json version = head.value("kvsweep_steps", json());
  if (version != StepLog::kVersion)
    throw std::invalid_argument(
        "it is of version " + shown(version.dump(), 20) + ", and this kvsweep reads version " +
        std::to_string(StepLog::kVersion) + ": install analysis/python of the same source");
  log.async = head.value("async", false);
  log.block_size = count_at(head, "block_size");
}

}  // namespace

double monotonic_s() { return engine::to_seconds(engine::monotonic_now()); }

std::int64_t end_of_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::int64_t size = file ? static_cast<std::int64_t>(file.tellg()) : 0;
  const std::int64_t from = std::max<std::int64_t>(0, size - std::int64_t{kLongestLine});
  std::string tail(static_cast<std::size_t>(size - from), '\0');
  file.seekg(from);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  const std::size_t last = tail.rfind('\n');
  return last == std::string::npos ? from : from + static_cast<std::int64_t>(last) + 1;
}

StepLog read_step_log(const std::string& path, std::int64_t from, double since_s) {
  StepLog log;
  std::ifstream file(path, std::ios::binary);
  Lines lines(file);
  try {
    take_head(lines, log);
  } catch (const std::exception& error) {
    throw std::runtime_error(
        path + " does not begin as kvsweep.vllm begins a log of steps: " + error.what());
  }
  if (from > 0) lines.go_to(from);
  Follower follow(log, since_s);
  try {
    while (const auto line = lines.next()) follow.take(object_of(*line, "it"));
  } catch (const std::exception& error) {  // of JSON, or of what stands there
    log.problem = "line " + std::to_string(line_number(path, lines.begin())) +
                  " is not as expected (" + error.what() + "): " + shown(lines.last(), kMostShown);
  }
  if (!log.problem.empty()) log.idle = false;
  follow.end();
  return log;
}

}  // namespace server
