#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "tests/engine/support/invariants.hpp"
#include "tests/engine/support/scripted_copier.hpp"
#include "tests/engine/support/shadow_copier.hpp"
#include "tests/engine/support/tagged_kv.hpp"
#include "tests/engine/support/tokens.hpp"
#include "workers/engine/scheduler/ranked_eviction.hpp"
#include "workers/engine/scheduler/scheduler.hpp"
#include "workers/engine/tiers/config.hpp"
#include "workers/policies/factory.hpp"

namespace support {

struct WorldConfig {
  engine::KvConfig kv{.num_blocks = 10'000};
  engine::SchedulerConfig scheduler{
      .max_num_batched_tokens = 8192, .max_num_seqs = 16, .max_model_len = 8192};
  policies::PolicyConfig policy{};
  engine::TierConfig tier{};
  bool async = false;  // apply() applies the step before the one scheduled last
};

/// A client's request. By default it is its own job, arrives in the order of add(), and ends its
/// job.
struct Ask {
  Tokens prompt;
  Tokens outputs;  // forced, as many as given
  int priority = 0;
  std::optional<double> arrival_s = std::nullopt;
  std::optional<int> job = std::nullopt;
  std::optional<double> job_arrival_s = std::nullopt;
  int turn = 0;
  bool last_turn = true;
  int tool = -1;
};

/// Scheduler, KV cache, pins and host tier, step by step, in the notation of the scenarios: a step
/// is written "a:400 b:224", its requests in service order with their tokens. Every step asserts
/// the invariants, and that no request reads KV that was computed for other tokens.
class SchedulerWorld {
 public:
  /// Creates its own tier, or uses the given one.
  explicit SchedulerWorld(const WorldConfig& config, engine::HostTier* tier = nullptr);

  engine::Request& add(const std::string& name, const Ask& ask);
  /// A request that shares no token with any other.
  engine::Request& add(const std::string& name, int prompt_tokens, int output_tokens = 100,
                       int priority = 0);
  void abort(const std::string& name);

  /// The two halves of step(). The clock passes `step_duration` between them.
  std::string schedule();
  void apply();
  std::string step();
  /// Steps until nothing waits and nothing runs; returns the number of steps.
  int run_until_idle();
  void pass(engine::Nanos time) { clock.advance(time); }

  std::string running() const;
  std::string waiting() const;
  /// Requests with a load in flight.
  std::string loading() const;
  std::string preempted() const { return preempted_; }
  std::string finished() const { return finished_; }
  engine::Request& operator[](const std::string& name);
  Ids table(const std::string& name) { return numbers((*this)[name].blocks); }
  Ids free_list() const;
  /// Events of pins since the start, as lines "pin 0.0 unseen_tool" and "unpin 0.0 ttl" (job, turn,
  /// reason).
  const std::vector<std::string>& pin_events() const { return pin_events_; }

  /// All KV events since the start.
  const std::vector<engine::KvEvent>& events() const { return events_; }
  /// Blocks in events of the kind and reason.
  int blocks_of(engine::KvEventKind kind, engine::KvReason reason) const;

  const engine::StepPlan& plan() const { return plan_; }
  const engine::Scheduler& scheduler() const { return scheduler_; }
  const engine::QueueOrder& order() const { return *order_; }
  engine::Nanos now() const { return clock.now(); }
  std::string name(const engine::Request& request) const;

  engine::Nanos step_duration{10'000'000};
  engine::KvCache kv;
  std::vector<engine::Request*> finished_requests;  // by the last step
  engine::VirtualClock clock;
  ScriptedCopier copier;

 private:
  struct Client {
    std::string name;
    Ask ask;
    engine::Request request;
  };
  std::string names(const auto& requests) const;
  void take_events();
  /// Whether completed copies are known when the step that saw them is applied.
  bool delayed() const { return config_.async && tier.connector() != nullptr; }
  void apply(const engine::StepPlan& plan);

  WorldConfig config_;
  policies::PolicyConfig policy_;  // with its plugin
  std::unique_ptr<engine::QueueOrder> order_;
  std::unique_ptr<engine::RetentionPolicy> retention_;

 public:
  engine::Pins pins;
  TaggedKv content;
  ShadowCopier shadow;

 private:
  std::unique_ptr<engine::PrefetchPolicy> prefetch_;
  std::unique_ptr<engine::HostEviction> host_eviction_;
  std::unique_ptr<engine::HostTier> own_tier_;

 public:
  engine::HostTier& tier;

 private:
  std::unique_ptr<engine::EvictionOrder> eviction_order_;
  engine::Scheduler scheduler_;
  engine::StepPlan plan_;
  std::deque<engine::StepPlan> in_flight_;  // async
  std::deque<Client> clients_;
  Invariants invariants_;
  std::string preempted_, finished_;
  std::vector<std::string> pin_events_;
  std::vector<engine::KvEvent> events_;
};

std::string to_string(engine::KvReason reason);

}  // namespace support
