#pragma once
#include <deque>
#include <functional>
#include <memory>

#include "tests/engine/support/tokens.hpp"
#include "workers/engine/engine.hpp"
#include "workers/policies/factory.hpp"

namespace support {

/// Computes nothing: a step takes `step_duration`, or what `duration_of` returns, and samples the
/// tokens 1000, 1001, ... in order.
class FakeBackend final : public engine::Backend {
 public:
  engine::StepResult execute(const engine::StepPlan& plan) override {
    if (on_execute) on_execute(plan);
    sampled_.clear();
    for (const auto& share : plan.scheduled)
      if (share.samples) sampled_.push_back(next_token_++);
    return {sampled_, duration_of ? duration_of(plan) : step_duration};
  }

  engine::Nanos step_duration{10'000'000};
  std::function<engine::Nanos(const engine::StepPlan&)> duration_of;
  std::function<void(const engine::StepPlan&)> on_execute;

 private:
  Tokens sampled_;
  engine::TokenId next_token_ = 1000;
};

/// Counts the steps that the engine reports.
class CountingSink final : public engine::TraceSink {
 public:
  void on_step(const engine::StepTrace& trace) override {
    ++steps;
    last = &trace;
  }
  int steps = 0;
  const engine::StepTrace* last = nullptr;
};

struct EngineWorldConfig {
  engine::EngineConfig engine{
      .kv = {.num_blocks = 1025},
      .scheduler = {.max_num_batched_tokens = 2048, .max_num_seqs = 16, .max_model_len = 4096}};
  policies::PolicyConfig policy{};
};

/// An engine in virtual time over a backend that computes nothing.
class EngineWorld {
 public:
  explicit EngineWorld(const EngineWorldConfig& config = {}, engine::BlockCopier* copier = nullptr)
      : order_(policies::make_order(config.policy)),
        retention_(policies::make_retention(config.policy)),
        engine(config.engine, clock, backend, *order_, *retention_, sink, copier) {}

  /// Submits the prompt now, as a job of its own unless `spec` says otherwise. The prompt must
  /// outlive the request.
  engine::RequestId submit(const Tokens& prompt, int max_tokens, engine::RequestSpec spec = {}) {
    spec.prompt = prompt;
    spec.max_tokens = max_tokens;
    spec.arrival = clock.now();
    return engine.submit(spec);
  }
  /// Steps until the request is finished, and returns its final state.
  engine::Request run_until_finished(engine::RequestId id) {
    for (int i = 0; i < 1'000'000; ++i) {
      for (const engine::Request* r : engine.step().finished)
        if (r->id == id) return *r;
    }
    throw std::logic_error("the request does not finish");
  }

  engine::VirtualClock clock;
  FakeBackend backend;
  CountingSink sink;

 private:
  std::unique_ptr<engine::QueueOrder> order_;
  std::unique_ptr<engine::RetentionPolicy> retention_;

 public:
  engine::Engine engine;
};

}  // namespace support
