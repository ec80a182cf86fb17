#include "analysis/trace/perfetto.hpp"

#include <array>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>

#include "analysis/text/json_line.hpp"

namespace analysis {
namespace {

constexpr int kEngineProcess = 1,
              kJobsProcess = 2;  // "processes" of the format; a thread is a track in one

struct TurnPart {
  std::string_view name, column;
};
constexpr std::array<TurnPart, 6> kPartColumns = {{{"queue", "queue_s"},
                                                   {"load stall", "load_stall_s"},
                                                   {"recompute", "recompute_s"},
                                                   {"prefill", "prefill_s"},
                                                   {"decode", "decode_s"},
                                                   {"gap (tool)", "gap_s"}}};

/// Counters of the engine, by step.
struct Counter {
  std::string_view name, key, column;
};
constexpr std::array<Counter, 7> kCounters = {{{"requests", "running", "n_running"},
                                               {"requests", "waiting", "n_waiting"},
                                               {"KV blocks", "allocated", "blk_used"},
                                               {"KV blocks", "pinned", "blk_pinned"},
                                               {"KV blocks", "cached", "blk_cached"},
                                               {"KV blocks", "free", "blk_free"},
                                               {"tokens", "scheduled", "n_tok"}}};

double micros(double seconds) { return std::round(seconds * 1e9) / 1e3; }

/// An event a line, as elements of the array "traceEvents".
class SliceWriter {
 public:
  explicit SliceWriter(std::ostream& out) : out_(out) { out_ << "{\"traceEvents\":[\n"; }

  void name(const char* what, int process, int track, const std::string& text) {
    begin("M", what, process, track).key("args").open('{').key("name").text(text).close('}');
    end();
  }

  void slice(std::string_view name, int track, int process, double start_s, double length_s,
             std::string_view key, std::int64_t value) {
    begin("X", name, process, track).key("ts").number(micros(start_s));
    line_.key("dur").number(micros(length_s));
    line_.key("args").open('{').key(key).integer(value).close('}');
    end();
  }

  /// Opens the values of a counter at a time; add keys, then end_counter().
  JsonLine& counter(std::string_view name, double at_s) {
    return begin("C", name, kEngineProcess, 0).key("ts").number(micros(at_s)).key("args").open('{');
  }
  void end_counter() {
    line_.close('}');
    end();
  }

  void finish() {
    out_ << "\n],\"displayTimeUnit\":\"ms\"}\n";
    flush_checked(out_);
  }

 private:
  JsonLine& begin(std::string_view phase, std::string_view name, int process, int track) {
    if (!is_first_) out_ << ",\n";
    is_first_ = false;
    line_.open('{').key("ph").text(phase).key("name").text(name);
    return line_.key("pid").integer(process).key("tid").integer(track);
  }
  void end() {
    line_.close('}');
    out_ << line_.so_far();
    line_ = JsonLine();
  }

  std::ostream& out_;
  JsonLine line_;
  bool is_first_ = true;
};

void write_counters(const sweep::Table& steps, std::size_t row, SliceWriter& events) {
  const double at_s = steps.values<double>("t_s")[row];
  for (std::size_t i = 0; i < kCounters.size();) {
    const std::string_view name = kCounters[i].name;
    JsonLine& values = events.counter(name, at_s);
    for (; i < kCounters.size() && kCounters[i].name == name; ++i)
      values.key(kCounters[i].key).integer(steps.values<std::int32_t>(kCounters[i].column)[row]);
    events.end_counter();
  }
}

void write_engine(const sweep::Table& steps, SliceWriter& events) {
  const auto &start = steps.values<double>("t_s"), &length = steps.values<double>("dur_s");
  const auto& number = steps.values<std::int64_t>("step");
  for (std::size_t row = 0; row < start.size(); ++row) {
    events.slice("step", 1, kEngineProcess, start[row], length[row], "step", number[row]);
    write_counters(steps, row, events);
  }
}

void write_jobs(const sweep::CellResult& result, SliceWriter& events) {
  const auto& number = result.jobs.values<std::int32_t>("job");
  const auto& id = result.jobs.values<std::string>("id");
  for (std::size_t row = 0; row < number.size(); ++row)
    events.name("thread_name", kJobsProcess, number[row] + 1, id[row]);
  const auto &job = result.turns.values<std::int32_t>("job"),
             &turn = result.turns.values<std::int32_t>("turn");
  const auto& arrive = result.turns.values<double>("t_arrive_s");
  for (std::size_t row = 0; row < job.size(); ++row) {
    double at_s = arrive[row];
    for (const TurnPart& part : kPartColumns) {
      const double length_s = result.turns.values<double>(part.column)[row];
      if (!(length_s > 0)) continue;
      events.slice(part.name, job[row] + 1, kJobsProcess, at_s, length_s, "turn", turn[row] + 1);
      at_s += length_s;
    }
  }
}

}  // namespace

void write_perfetto(const sweep::CellResult& result, std::ostream& out) {
  SliceWriter events(out);
  events.name("process_name", kEngineProcess, 0, "engine");
  events.name("thread_name", kEngineProcess, 1, "steps");
  events.name("process_name", kJobsProcess, 0, "jobs");
  write_engine(result.steps, events);
  write_jobs(result, events);
  events.finish();
}

}  // namespace analysis
