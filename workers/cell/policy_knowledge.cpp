#include "workers/cell/policy_knowledge.hpp"

#include <algorithm>
#include <cmath>

#include "workers/backends/sim/cost_model.hpp"
#include "workers/policies/estimators/estimator_error.hpp"
#include "workers/policies/reload_cost.hpp"

namespace worker {
namespace {

constexpr double kMostTokens = 1e9;  // of a context, however wrong a hint is

/// Seconds to prefill a context of `tokens` tokens alone, in chunks of the token budget.
double prefill_seconds(const backends::CostModel& model, int tokens, int budget) {
  double seconds = 0;
  for (int before = 0; before < tokens; before += budget) {
    const int chunk = std::min(budget, tokens - before);
    backends::StepShape step;
    step.tokens = step.prefill_tokens = step.max_tokens_of_one_request = chunk;
    step.sequences = step.logits_rows = 1;
    step.prefill_context_products = chunk * (before + (chunk + 1) / 2.0);
    step.prefill_kv_tokens = before + chunk;
    seconds += engine::to_seconds(model.step_time(step));
  }
  return seconds;
}

/// Of the job's turns from this one on.
policies::Work work_from(const workload::Job& job, std::size_t turn) {
  policies::Work work;
  for (; turn < job.turns.size(); ++turn)
    work += {static_cast<double>(job.turns[turn].prompt_tokens - computed_before(job, turn)),
             static_cast<double>(job.turns[turn].output_tokens)};
  return work;
}

/// Seconds to copy the KV of a token over the link, averaged over both directions; 0 without swap
/// space.
double swap_seconds_per_token(const ExperimentConfig& config) {
  constexpr double kFree = 1e-15;  // for an infinite link; 0 would mean no link
  if (config.engine.tier.kind != engine::TierKind::swap) return 0;
  if (config.link.infinite) return kFree;
  const auto link =
      backends::link_model(config.gpu.link, config.link.memory, bytes_per_block(config));
  const double bytes_per_token =
      static_cast<double>(link.bytes_per_block) / config.engine.kv.block_size;
  const double launches_s = config.link.block_us / 1e6 / config.engine.kv.block_size;
  return bytes_per_token * (1 / link.load_gb_s + 1 / link.store_gb_s) / 2 / 1e9 + launches_s;
}

}  // namespace

policies::PolicyConfig with_knowledge(const ExperimentConfig& config,
                                      const workload::Workload& workload) {
  policies::PolicyConfig policy = config.policy;
  const policies::GapSource gap = [&workload](engine::JobId job, int turn) {
    const workload::Job& of = workload.jobs.at(index(job));
    return of.turns.at(static_cast<std::size_t>(turn)).gap;
  };
  policy.estimator.truth = gap;
  policy.estimator.hints = gap;
  policy.true_work = [&workload](engine::JobId job, int turn) {
    return work_from(workload.jobs.at(index(job)), static_cast<std::size_t>(turn));
  };
  policy.admission.last_context = [&workload, error = policy.estimator.error](engine::JobId job) {
    const auto factor = policies::error_factor(error, job, 0);
    if (!factor) return 0;
    const double tokens = *factor * workload::longest_turn(workload.jobs.at(index(job)));
    return static_cast<int>(std::clamp(tokens, 1.0, kMostTokens));
  };
  const auto model = backends::make_cost_model(config.cost_model, config.gpu, config.model);
  policy.reload = policies::fit_reload_cost([&](int tokens) {
    return prefill_seconds(*model, tokens, config.engine.scheduler.max_num_batched_tokens);
  });
  policy.swap_s_per_tok = swap_seconds_per_token(config);
  return policy;
}

engine::Nanos block_load_time(const ExperimentConfig& config) {
  if (config.link.infinite) return engine::Nanos{0};
  const auto link =
      backends::link_model(config.gpu.link, config.link.memory, bytes_per_block(config));
  // 1 GB/s is one byte per nanosecond.
  return engine::Nanos{std::llround(static_cast<double>(link.bytes_per_block) / link.load_gb_s +
                                    config.link.block_us * 1e3)};
}

}  // namespace worker
