#include <algorithm>
#include <limits>

#include "workers/binding_parts.hpp"

namespace worker {
namespace {

constexpr int kIntMax = std::numeric_limits<int>::max();

workload::SweSmithLikeConfig bind_swe_smith_like(ParamBinder& in,
                                                 const engine::SchedulerConfig& scheduler) {
  workload::SweSmithLikeConfig config;
  config.jobs = in.small("workload.jobs", config.jobs, 1, 100'000);
  config.seed = in.integer("workload.seed", config.seed, 0, INT64_MAX);
  config.gap_s = in.number("workload.gap_s", config.gap_s, 0, 1e6);
  config.min_turns = in.small("workload.min_turns", config.min_turns, 1, 17);
  config.max_turns = in.small("workload.max_turns", config.max_turns, 18, 100);
  constexpr int kLeastContext = 4096;
  config.max_context =
      in.small("workload.max_context", std::min(config.max_context, scheduler.max_model_len),
               kLeastContext, kIntMax);
  if (config.max_context < kLeastContext) {
    in.fail("workload.max_context", "must be at least " + std::to_string(kLeastContext) +
                                        " tokens for these jobs; engine.max_model_len allows " +
                                        std::to_string(scheduler.max_model_len));
  }
  return config;
}

workload::Agent8Config bind_agent8(ParamBinder& in) {
  workload::Agent8Config config;
  config.jobs = in.small("workload.jobs", config.jobs, 1, 100'000);
  config.seed = in.integer("workload.seed", config.seed, 0, INT64_MAX);
  config.gap_s = in.number("workload.gap_s", config.gap_s, 0, 1e6);
  config.tool_hint = in.boolean("workload.tool_hint", false);
  config.scale = in.number("workload.scale", 1, 0.001, 1);
  if (config.scale == 1) in.forget({"workload.scale"});
  return config;
}

workload::Curation bind_curation(ParamBinder& in) {
  workload::Curation rule;
  rule.count = in.optional_small("workload.jobs", 1, kIntMax);
  rule.min_turns = in.small("workload.min_turns", 1, 1, kIntMax);
  rule.max_turns = in.optional_small("workload.max_turns", 1, kIntMax);
  rule.max_context = in.optional_small("workload.max_context", 1, kIntMax);
  const std::string order = in.choice("workload.order", "file", {"file", "id", "shuffled"});
  rule.order = order == "file" ? workload::JobOrder::file
               : order == "id" ? workload::JobOrder::id
                               : workload::JobOrder::shuffled;
  rule.seed = static_cast<std::uint64_t>(in.integer("workload.seed", 42, 0, INT64_MAX));
  return rule;
}

RecordedTrajectories bind_trajectories(ParamBinder& in, const engine::SchedulerConfig& scheduler) {
  RecordedTrajectories recorded;
  in.require("workload.path");
  recorded.reading.path = in.file("workload.path");
  recorded.tokenizer_path = in.file("workload.tokenizer");
  recorded.reading.curation = bind_curation(in);
  recorded.reading.model_context = scheduler.max_model_len;
  workload::GapRule& gap = recorded.reading.gap;
  gap.recorded = in.choice("workload.gap", "constant", {"constant", "recorded"}) == "recorded";
  if (gap.recorded) {
    gap.fallback_s = in.optional_number("workload.gap_fallback_s", 0, 1e6);
  } else {
    gap.gap_s = in.number("workload.gap_s", 1.0, 0, 1e6);
  }
  const bool tag = in.choice("workload.tool_fallback", "function_tag", {"none", "function_tag"}) ==
                   "function_tag";
  recorded.reading.tool_fallback =
      tag ? workload::ToolFallback::function_tag : workload::ToolFallback::none;
  return recorded;
}

ArrivalConfig bind_arrivals(ParamBinder& in, std::int64_t seed, const std::string& kind) {
  ArrivalConfig arrivals;
  const std::string process =
      in.choice("workload.arrivals", "poisson", {"poisson", "closed", "trace"});
  if (process != "poisson" && in.has("jps")) {
    in.fail("jps", "is the rate of Poisson arrivals and has no effect with workload.arrivals = \"" +
                       process + '"');
  }
  if (process == "closed") {
    arrivals.kind = ArrivalConfig::Kind::closed;
  } else if (process == "trace") {
    arrivals.kind = ArrivalConfig::Kind::trace;
    in.require("workload.arrival_trace");
    arrivals.trace_path = in.file("workload.arrival_trace");
  } else {
    in.require("jps");
    arrivals.rate_per_s = in.number("jps", 1, 1e-6, 1e6);
    arrivals.seed = seed;
    arrivals.window_s = in.optional_number("workload.window_s", 1e-3, 1e6);
    if (arrivals.window_s && kind == "trajectories") {
      in.fail("workload.window_s",
              "decides the number of generated jobs; recorded trajectories take workload.jobs");
    }
    if (arrivals.window_s && in.has("workload.jobs")) {
      in.fail("workload.window_s",
              "decides the number of jobs, so workload.jobs must not be given");
    }
  }
  return arrivals;
}

}  // namespace

WorkloadConfig bind_workload(ParamBinder& in, const engine::SchedulerConfig& scheduler,
                             std::int64_t arrival_seed, int vocabulary) {
  in.require("workload.kind");
  const std::string kind =
      in.choice("workload.kind", "", {"swe_smith_like", "agent8", "trajectories"});
  WorkloadConfig config;
  config.arrivals = bind_arrivals(in, arrival_seed, kind);
  if (kind == "swe_smith_like") {
    config.content = bind_swe_smith_like(in, scheduler);
  } else if (kind == "agent8") {
    config.content = bind_agent8(in);
  } else {
    config.content = bind_trajectories(in, scheduler);
  }
  config.vocabulary = static_cast<std::uint32_t>(vocabulary);
  return config;
}

}  // namespace worker
