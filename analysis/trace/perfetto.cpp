#include "analysis/trace/trace.hpp"

#include <array>
#include <cmath>
#include <ostream>

#include "analysis/text/json.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

// "Processes" of the format; a thread is a track in one.
constexpr int kEngine = 1, kJobs = 2;

struct TurnPart {
  const char *name, *column;
};
constexpr std::array<TurnPart, 6> kSlices = {{{"queue", "queue_s"},
                                              {"load stall", "load_stall_s"},
                                              {"recompute", "recompute_s"},
                                              {"prefill", "prefill_s"},
                                              {"decode", "decode_s"},
                                              {"gap (tool)", "gap_s"}}};

struct Counter {
  const char *name, *key, *column;
};
constexpr std::array<Counter, 7> kCounters = {{{"requests", "running", "n_running"},
                                               {"requests", "waiting", "n_waiting"},
                                               {"KV blocks", "allocated", "blk_used"},
                                               {"KV blocks", "pinned", "blk_pinned"},
                                               {"KV blocks", "cached", "blk_cached"},
                                               {"KV blocks", "free", "blk_free"},
                                               {"tokens", "scheduled", "n_tok"}}};

double micros(double seconds) { return std::round(seconds * 1e9) / 1e3; }

Json event(const char* phase, const char* name, int process, int track) {
  return {{"ph", phase}, {"name", name}, {"pid", process}, {"tid", track}};
}

Json named(const char* what, int process, int track, const std::string& text) {
  Json json = event("M", what, process, track);
  json["args"] = {{"name", text}};
  return json;
}

Json slice(const char* name, int process, int track, double start_s, double length_s, Json args) {
  Json json = event("X", name, process, track);
  json["ts"] = micros(start_s);
  json["dur"] = micros(length_s);
  json["args"] = std::move(args);
  return json;
}

template <class Write>
void write_engine(const sweep::Table& steps, Write write) {
  for (sweep::TableRow step{steps, 0}; step.row < steps.rows(); ++step.row) {
    write(slice("step", kEngine, 1, step.number("t_s"), step.number("dur_s"),
                {{"step", step.at<std::int64_t>("step")}}));
    for (std::size_t i = 0; i < kCounters.size();) {
      const std::string name = kCounters[i].name;
      Json json = event("C", kCounters[i].name, kEngine, 0);
      json["ts"] = micros(step.number("t_s"));
      for (; i < kCounters.size() && kCounters[i].name == name; ++i)
        json["args"][kCounters[i].key] = step.count(kCounters[i].column);
      write(json);
    }
  }
}

template <class Write>
void write_jobs(const sweep::CellResult& result, Write write) {
  for (sweep::TableRow job{result.jobs, 0}; job.row < result.jobs.rows(); ++job.row)
    write(named("thread_name", kJobs, job.count("job") + 1, job.text("id")));
  for (sweep::TableRow turn{result.turns, 0}; turn.row < result.turns.rows(); ++turn.row) {
    double at_s = turn.number("t_arrive_s");
    for (const TurnPart& part : kSlices) {
      const double length_s = turn.number(part.column);
      if (!(length_s > 0)) continue;
      write(slice(part.name, kJobs, turn.count("job") + 1, at_s, length_s,
                  {{"turn", turn.count("turn") + 1}}));
      at_s += length_s;
    }
  }
}

}  // namespace

void write_perfetto(const sweep::CellResult& result, std::ostream& out) {
  const char* before = "{\"traceEvents\":[\n";
  const auto write = [&](const Json& json) {
    out << before << text_of(json);
    before = ",\n";
  };
  write(named("process_name", kEngine, 0, "engine"));
  write(named("thread_name", kEngine, 1, "steps"));
  write(named("process_name", kJobs, 0, "jobs"));
  write_engine(result.steps, write);
  write_jobs(result, write);
  out << "\n],\"displayTimeUnit\":\"ms\"}\n";
  flush_checked(out);
}

}  // namespace analysis
