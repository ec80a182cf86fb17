#pragma once
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/engine/replay/device.hpp"
#include "tests/engine/replay/workload.hpp"
#include "workers/engine/scheduler/scheduler.hpp"
#include "workers/engine/tiers/connector.hpp"

namespace worker {

/// The requests of a workload, the scheduler and the KV cache that serve them, and their state as
/// JSON. Private to this room.
struct Script {
  explicit Script(const SchedulerWorkload& workload);
  Script(const Script&) = delete;

  bool newest() const { return workload.scheduler.version == engine::Version::v0_33; }
  /// Whether the engine waits for an empty batch only when nothing else is to be done.
  bool waits_for_all() const { return workload.scheduler.version != engine::Version::may_2026; }
  bool all_arrived() const { return next_arrival_ == by_arrival_.size(); }
  /// Submits the requests that arrive up to this step, in file order; their ids.
  nlohmann::ordered_json add_arrivals(int step);
  /// Aborts the requests with this abort_step that have arrived up to `step` and live; their ids.
  nlohmann::ordered_json apply_aborts(int abort_step, int step);
  /// Throws engine::InputError at a step far behind what a workload needs if every step makes
  /// progress.
  void check_progress(int step) const;

  const std::string& name(const engine::Request& request) const;
  const std::string& name(engine::RequestId id) const;
  nlohmann::ordered_json names(const auto& list) const {
    nlohmann::ordered_json ids = nlohmann::ordered_json::array();
    for (const engine::Request* request : list) ids.push_back(name(*request));
    return ids;
  }
  nlohmann::ordered_json share(const engine::ScheduledRequest& share) const;
  /// The token that the share generates, before it is applied; null for none.
  static nlohmann::ordered_json sampled(const engine::ScheduledRequest& share);
  /// Those that hold blocks for a load first.
  nlohmann::ordered_json waiting() const;
  nlohmann::ordered_json running() const;
  double kv_usage() const;
  /// Adds the common prefix, which the newest release does not have.
  void describe_common_prefix(bool scheduled, nlohmann::ordered_json& record) const;
  nlohmann::ordered_json evicted() const;
  nlohmann::ordered_json free_queue(int most) const;
  nlohmann::ordered_json last_line(int steps) const;

  // With a host tier; without one these do nothing.
  bool copies() const { return tier->busy(); }
  /// Adds what the last step decided about it, if one was scheduled.
  void describe_tier(bool scheduled, nlohmann::ordered_json& record) const;
  /// The worker's step: submits copies, and looks what is done.
  void run_copies(const engine::StepPlan* plan, nlohmann::ordered_json& record);
  /// Makes known what the oldest step found done.
  void apply_copies(bool applies, nlohmann::ordered_json& record);

  const SchedulerWorkload& workload;
  std::unique_ptr<engine::QueueOrder> order;
  std::unique_ptr<engine::RetentionPolicy> retention;
  engine::KvCache kv;
  engine::Pins pins;
  std::optional<StepDevice> device;
  engine::ConnectorTier* connector = nullptr;  // the tier, if there is one
  std::unique_ptr<engine::HostTier> tier;
  engine::VirtualClock clock;  // counts the worker's steps
  engine::Scheduler scheduler;
  std::deque<engine::Request> requests;  // in file order

 private:
  void create_requests();
  std::unique_ptr<engine::HostTier> make_tier();
  int job_of(std::uint64_t transfer) const;

  std::vector<std::size_t> by_arrival_;  // positions in file order, by arrival step
  std::size_t next_arrival_ = 0;
};

}  // namespace worker
