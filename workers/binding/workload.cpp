#include <algorithm>

#include "workers/binding/key_groups.hpp"
#include "workers/workload/trace/head.hpp"

namespace worker {
namespace {

void bind_context(ParamBinder& in) {
  const int longest = in.config.engine.scheduler.max_model_len;
  constexpr int kLeastContext = 4096;
  const int context = in.small("workload.max_context",
                               std::min(workload::SweSmithLikeConfig().max_context, longest));
  if (context >= kLeastContext) return;
  const model::ModelShape& model = in.config.model;
  in.fail("workload.max_context",
          "must be at least " + std::to_string(kLeastContext) +
              " tokens for these jobs; engine.max_model_len allows " + std::to_string(longest) +
              (model.max_context < kLeastContext
                   ? ", which is all that " + model.name +
                         " has: set another model, or workload.kind = \"agent8\" with a "
                         "workload.scale of at most 0.1"
                   : ": raise it"));
}

bool plays_agentx(ParamBinder& in) { return in.text("workload.preset") == "agentx"; }

/// Whether the trace says when its jobs arrive decides a default.
workload::TraceCounts counts_of(ParamBinder& in, const std::string& path) {
  try {
    workload::LineReader lines(path);
    return workload::read_head(lines).counts;
  } catch (const InputError& error) {
    in.refuse("workload.path", error.what());
  }
}

void bind_trace(ParamBinder& in, RecordedTrace& trace) {
  const bool agentx = plays_agentx(in);
  trace.path = in.file("workload.path");
  trace.counts = counts_of(in, trace.path);
  in.text("workload.pacing", agentx ? "end_to_start" : "think");
  in.text("workload.start", agentx ? "random" : "beginning");
  workload::PlayRules& rules = trace.rules;
  constexpr double kAgentxCap_s = 10;
  if (agentx && !in.has("workload.gap_cap_s")) rules.gap_cap_s = kAgentxCap_s;
  const int longest = in.config.engine.scheduler.max_model_len;
  const int given = in.small("workload.max_context");
  rules.max_context = in.has("workload.max_context") ? std::min(given, longest) : longest;
  const int least = in.small("workload.min_turns");
  if (in.has("workload.max_turns") && in.small("workload.max_turns") < least)
    in.fail("workload.max_turns", "must be at least workload.min_turns");
}

void check_zipf(ParamBinder& in) {
  const int least = in.small("workload.min") + 2;
  if (in.small("workload.max") < least)
    in.fail("workload.max", "must be at least workload.min + 2, which is " + std::to_string(least));
}

bool is_generated(const std::string& kind) { return kind == "swe_smith_like" || kind == "agent8"; }

std::string usual_arrivals(ParamBinder& in, const std::string& kind, const RecordedTrace* trace) {
  if (trace == nullptr) return is_generated(kind) ? "poisson" : "closed";
  if (plays_agentx(in)) return "live";
  return trace->missing_arrivals() == 0 && !in.has("jps") ? "recorded" : "poisson";
}

void bind_arrivals(ParamBinder& in, const std::string& kind) {
  ArrivalConfig& arrivals = in.config.workload.arrivals;
  const auto* trace = std::get_if<RecordedTrace>(&in.config.workload.content);
  const std::string process = in.text("workload.arrivals", usual_arrivals(in, kind, trace));
  if (process == "recorded" && trace == nullptr)
    in.fail("workload.arrivals", "\"recorded\" needs workload.kind \"trace\"");
  if (process == "trace") arrivals.trace_path = in.file("workload.arrival_trace");
  if (process == "poisson" && trace != nullptr && trace->missing_arrivals() > 0)
    in.require("jps", "; it must be given, since " + std::to_string(trace->missing_arrivals()) +
                          " of the " + std::to_string(trace->counts.jobs) +
                          " jobs of workload.path have no arrival_s");
  const bool counts_jobs = process == "poisson" && is_generated(kind);
  if (counts_jobs && in.has("workload.window_s") && in.has("workload.jobs"))
    in.fail("workload.window_s", "decides the number of jobs, so workload.jobs must not be given");
}

}  // namespace

void bind_workload(ParamBinder& in, int vocabulary) {
  const std::string kind = in.text("workload.kind");
  WorkloadConfig& config = in.config.workload;
  if (kind == "swe_smith_like") bind_context(in);
  if (auto* trace = std::get_if<RecordedTrace>(&config.content)) bind_trace(in, *trace);
  if (auto* list = std::get_if<workload::RequestListConfig>(&config.content)) {
    if (kind == "zipf") check_zipf(in);
    if (auto* file = std::get_if<workload::SizeFile>(&list->sizes))
      file->path = in.file("workload.path");
  }
  bind_arrivals(in, kind);
  config.vocabulary = static_cast<std::uint32_t>(vocabulary);
}

}  // namespace worker
