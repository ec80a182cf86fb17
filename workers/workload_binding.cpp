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

workload::ZipfSizes bind_zipf(ParamBinder& in) {
  workload::ZipfSizes zipf;
  zipf.count = in.small("workload.n", zipf.count, 1, 100'000);
  zipf.min = in.small("workload.min", zipf.min, 2, 1 << 24);
  zipf.max = in.small("workload.max", zipf.max, 4, 1 << 24);
  zipf.theta = in.number("workload.theta", zipf.theta, 1e-6, 1 - 1e-6);
  zipf.seed = in.integer("workload.seed", zipf.seed, 0, UINT32_MAX);
  zipf.prompt_to_output = in.number("workload.prompt_to_output", zipf.prompt_to_output, 1e-6, 1e6);
  if (zipf.max < zipf.min + 2)
    in.fail("workload.max",
            "must be at least workload.min + 2, which is " + std::to_string(zipf.min + 2));
  return zipf;
}

workload::ListedSizes bind_listed(ParamBinder& in) {
  in.require("workload.requests");
  try {
    return {workload::parse_sizes(in.text("workload.requests", ""))};
  } catch (const InputError& error) {
    in.fail("workload.requests", error.what());
  }
}

/// Requests without turns. Their token ids come from the seed, too.
workload::RequestListConfig bind_requests(ParamBinder& in, const std::string& kind) {
  workload::RequestListConfig list;
  if (kind == "fixed") {
    in.require("workload.prompt");
    list.sizes = workload::FixedSizes{
        in.small("workload.n", 1, 1, 100'000),
        {in.small("workload.prompt", 1, 1, 1 << 24), in.small("workload.output", 1, 1, 1 << 24)}};
  } else if (kind == "zipf") {
    list.sizes = bind_zipf(in);
  } else {
    if (kind == "pair") {
      list.sizes = bind_listed(in);
    } else {
      in.require("workload.path");
      list.sizes = workload::SizeFile{in.file("workload.path")};
    }
    list.first = in.optional_small("workload.n", 1, 100'000);
  }
  list.seed = in.integer("workload.seed", list.seed, 0, INT64_MAX);
  return list;
}

bool lists_requests(const std::string& kind) {
  return kind == "fixed" || kind == "zipf" || kind == "pair" || kind == "lengths";
}

ArrivalConfig bind_arrivals(ParamBinder& in, std::int64_t seed, const std::string& kind) {
  ArrivalConfig arrivals;
  const std::string process =
      in.choice("workload.arrivals", lists_requests(kind) ? "closed" : "poisson",
                {"poisson", "closed", "trace"});
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
    if (arrivals.window_s && lists_requests(kind)) {
      in.fail("workload.window_s", "decides the number of generated jobs; \"" + kind +
                                       "\" says itself how many requests there are");
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
      in.choice("workload.kind", "",
                {"swe_smith_like", "agent8", "trajectories", "fixed", "zipf", "pair", "lengths"});
  WorkloadConfig config;
  config.arrivals = bind_arrivals(in, arrival_seed, kind);
  if (kind == "swe_smith_like") {
    config.content = bind_swe_smith_like(in, scheduler);
  } else if (kind == "agent8") {
    config.content = bind_agent8(in);
  } else if (lists_requests(kind)) {
    config.content = bind_requests(in, kind);
  } else {
    config.content = bind_trajectories(in, scheduler);
  }
  config.vocabulary = static_cast<std::uint32_t>(vocabulary);
  return config;
}

}  // namespace worker
