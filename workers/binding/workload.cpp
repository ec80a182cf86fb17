#include <algorithm>

#include "workers/binding/parts.hpp"
#include "workers/workload/trace/head.hpp"

namespace worker {
namespace {

workload::SweSmithLikeConfig bind_swe_smith_like(ParamBinder& in, const ExperimentConfig& cell) {
  workload::SweSmithLikeConfig config;
  config.jobs = in.small("workload.jobs");
  config.seed = in.integer("workload.seed");
  config.gap_s = in.number("workload.gap_s");
  config.min_turns = in.small("workload.min_turns");
  config.max_turns = in.small("workload.max_turns");
  const int longest = cell.engine.scheduler.max_model_len;
  config.max_context = in.small("workload.max_context", std::min(config.max_context, longest));
  constexpr int kLeastContext = 4096;
  if (config.max_context < kLeastContext) {
    in.fail("workload.max_context",
            "must be at least " + std::to_string(kLeastContext) +
                " tokens for these jobs; engine.max_model_len allows " + std::to_string(longest) +
                (cell.model.max_context < kLeastContext
                     ? ", which is all that " + cell.model.name +
                           " has: set another model, or workload.kind = \"agent8\" with a "
                           "workload.scale of at most 0.1"
                     : ": raise it"));
  }
  return config;
}

workload::Agent8Config bind_agent8(ParamBinder& in) {
  workload::Agent8Config config;
  config.jobs = in.small("workload.jobs");
  config.seed = in.integer("workload.seed");
  config.gap_s = in.number("workload.gap_s");
  config.tool_hint = in.boolean("workload.tool_hint");
  config.scale = in.number("workload.scale");
  return config;
}

workload::JobOrder bind_order(ParamBinder& in) {
  const std::string order = in.text("workload.order");
  return order == "file" ? workload::JobOrder::file
         : order == "id" ? workload::JobOrder::id
                         : workload::JobOrder::shuffled;
}

workload::Pacing pacing_named(const std::string& name) {
  return name == "think"      ? workload::Pacing::think
         : name == "recorded" ? workload::Pacing::recorded
                              : workload::Pacing::end_to_start;
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

RecordedTrace bind_trace(ParamBinder& in, const engine::SchedulerConfig& scheduler) {
  const bool agentx = plays_agentx(in);
  RecordedTrace trace;
  trace.path = in.file("workload.path");
  trace.counts = counts_of(in, trace.path);
  workload::PlayRules& rules = trace.rules;
  rules.pacing = pacing_named(in.text("workload.pacing", agentx ? "end_to_start" : "think"));
  constexpr double kAgentxCap_s = 10;
  const auto cap = in.optional_number("workload.gap_cap_s");
  if (cap || agentx) rules.gap_cap_s = cap.value_or(kAgentxCap_s);
  rules.unrecorded_gap_s = in.number("workload.gap_fallback_s");
  rules.time_scale = in.number("workload.time_scale");
  rules.too_long =
      in.text("workload.too_long") == "cut" ? workload::TooLong::cut : workload::TooLong::drop;
  rules.max_context =
      std::min(in.optional_small("workload.max_context").value_or(scheduler.max_model_len),
               scheduler.max_model_len);
  rules.random_start = in.text("workload.start", agentx ? "random" : "beginning") == "random";
  rules.turns = in.optional_small("workload.window_turns");
  rules.min_turns = in.small("workload.min_turns");
  rules.max_turns = in.optional_small("workload.max_turns");
  if (rules.max_turns.value_or(rules.min_turns) < rules.min_turns)
    in.fail("workload.max_turns", "must be at least workload.min_turns");
  rules.sessions = in.optional_small("workload.jobs");
  rules.fresh_again = in.boolean("workload.fresh_replays");
  rules.order = bind_order(in);
  rules.seed = static_cast<std::uint64_t>(in.integer("workload.seed"));
  return trace;
}

workload::ZipfSizes bind_zipf(ParamBinder& in) {
  workload::ZipfSizes zipf;
  zipf.count = in.small("workload.n");
  zipf.min = in.small("workload.min");
  zipf.max = in.small("workload.max");
  zipf.theta = in.number("workload.theta");
  zipf.seed = in.integer("workload.seed");
  zipf.prompt_to_output = in.number("workload.prompt_to_output");
  if (zipf.max < zipf.min + 2)
    in.fail("workload.max",
            "must be at least workload.min + 2, which is " + std::to_string(zipf.min + 2));
  return zipf;
}

workload::ListedSizes bind_listed(ParamBinder& in) {
  try {
    return {workload::parse_sizes(in.text("workload.requests"))};
  } catch (const InputError& error) {
    in.fail("workload.requests", error.what());
  }
}

/// Requests without turns. Their token ids come from the seed, too.
workload::RequestListConfig bind_requests(ParamBinder& in, const std::string& kind) {
  workload::RequestListConfig list;
  if (kind == "fixed") {
    list.sizes = workload::FixedSizes{in.small("workload.n"),
                                      {in.small("workload.prompt"), in.small("workload.output")}};
  } else if (kind == "zipf") {
    list.sizes = bind_zipf(in);
  } else {
    if (kind == "pair") {
      list.sizes = bind_listed(in);
    } else {
      list.sizes = workload::SizeFile{in.file("workload.path")};
    }
    list.first = in.optional_small("workload.n");
  }
  list.seed = in.integer("workload.seed");
  return list;
}

bool lists_requests(const std::string& kind) {
  return kind == "fixed" || kind == "zipf" || kind == "pair" || kind == "lengths";
}

/// Poisson arrivals, of as many jobs as are given or as come within a window.
void bind_rate(ParamBinder& in, ArrivalConfig& arrivals, const std::string& kind) {
  arrivals.rate_per_s = in.number("jps");
  if (kind != "swe_smith_like" && kind != "agent8") return;
  arrivals.window_s = in.optional_number("workload.window_s");
  if (arrivals.window_s && in.has("workload.jobs"))
    in.fail("workload.window_s", "decides the number of jobs, so workload.jobs must not be given");
}

std::string usual_arrivals(ParamBinder& in, const std::string& kind, const RecordedTrace* trace) {
  if (lists_requests(kind)) return "closed";
  if (trace == nullptr) return "poisson";
  if (plays_agentx(in)) return "live";
  return trace->missing_arrivals() == 0 && !in.has("jps") ? "recorded" : "poisson";
}

ArrivalConfig bind_arrivals(ParamBinder& in, const std::string& kind, const RecordedTrace* trace) {
  ArrivalConfig arrivals;
  const std::string process = in.text("workload.arrivals", usual_arrivals(in, kind, trace));
  if (process == "closed") {
    arrivals.kind = ArrivalConfig::Kind::closed;
  } else if (process == "live") {
    arrivals.kind = ArrivalConfig::Kind::closed;
    arrivals.most_live = in.small("workload.live");
  } else if (process == "recorded") {
    if (trace == nullptr)
      in.fail("workload.arrivals", "\"recorded\" needs workload.kind \"trace\"");
    arrivals.kind = ArrivalConfig::Kind::recorded;
  } else if (process == "trace") {
    arrivals.kind = ArrivalConfig::Kind::trace;
    arrivals.trace_path = in.file("workload.arrival_trace");
  } else {
    if (trace != nullptr && trace->missing_arrivals() > 0)
      in.require("jps", "; it must be given, since " + std::to_string(trace->missing_arrivals()) +
                            " of the " + std::to_string(trace->counts.jobs) +
                            " jobs of workload.path have no arrival_s");
    bind_rate(in, arrivals, kind);
  }
  return arrivals;
}

}  // namespace

WorkloadConfig bind_workload(ParamBinder& in, const ExperimentConfig& cell, int vocabulary) {
  const std::string kind = in.text("workload.kind");
  WorkloadConfig config;
  if (kind == "swe_smith_like") {
    config.content = bind_swe_smith_like(in, cell);
  } else if (kind == "agent8") {
    config.content = bind_agent8(in);
  } else if (lists_requests(kind)) {
    config.content = bind_requests(in, kind);
  } else {
    config.content = bind_trace(in, cell.engine.scheduler);
  }
  config.arrivals = bind_arrivals(in, kind, std::get_if<RecordedTrace>(&config.content));
  config.vocabulary = static_cast<std::uint32_t>(vocabulary);
  return config;
}

}  // namespace worker
