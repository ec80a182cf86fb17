#include "workers/replay/replay.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <ostream>

#include "workers/engine/base/errors.hpp"
#include "workers/engine/scheduler/scheduler.hpp"
#include "workers/policies/factory.hpp"
#include "workers/replay/workload.hpp"

namespace worker {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;
using nlohmann::ordered_json;

ordered_json ids_of(std::span<const BlockId> blocks) {
  ordered_json ids = ordered_json::array();
  for (const BlockId block : blocks) ids.push_back(engine::index(block));
  return ids;
}

class Replay {
 public:
  explicit Replay(const SchedulerWorkload& workload)
      : workload_(workload),
        order_(policies::make_order({.order = workload.order})),
        retention_(policies::make_retention({})),
        kv_(workload.kv),
        pins_(kv_, *order_, *retention_),
        scheduler_(workload.scheduler, kv_, *order_, pins_, tier_) {
    by_arrival_.resize(workload.requests.size());
    for (std::size_t i = 0; i < by_arrival_.size(); ++i) by_arrival_[i] = i;
    std::ranges::stable_sort(by_arrival_, {},
                             [&](std::size_t i) { return workload_.requests[i].arrival_step; });
    create_requests();
  }

  void run(std::ostream& out) {
    int step = 0;
    for (; next_arrival_ < by_arrival_.size() || !scheduler_.idle(); ++step) {
      if (step > most_steps())
        throw engine::InputError("the requests evict each other's blocks forever");
      out << line(step).dump() << '\n';
    }
    out << last_line(step).dump() << '\n';
  }

 private:
  void create_requests() {
    std::vector<std::string> names;
    for (const ScriptedRequest& scripted : workload_.requests) names.push_back(scripted.id);
    std::ranges::sort(names);
    for (const ScriptedRequest& scripted : workload_.requests) {
      Request& request = requests_.emplace_back();
      // Ids break ties in the order of their names.
      const auto rank = std::ranges::lower_bound(names, scripted.id) - names.begin();
      request.id = engine::RequestId{static_cast<std::uint32_t>(rank)};
      request.spec.priority = scripted.priority;
      request.spec.prompt = scripted.prompt;
      request.spec.forced = scripted.outputs;
      request.spec.stop.max_tokens = static_cast<int>(scripted.outputs.size());
      engine::hash_full_blocks(request, kv_.block_size());
    }
    for (std::size_t rank = 0; rank < by_arrival_.size(); ++rank) {
      const auto& time = workload_.requests[by_arrival_[rank]].arrival_time;
      requests_[by_arrival_[rank]].spec.arrival =
          engine::from_seconds(time.value_or(static_cast<double>(rank)));
    }
  }

  const std::string& name(const Request& request) const {
    const auto at =
        std::ranges::find_if(requests_, [&](const Request& r) { return &r == &request; });
    return workload_.requests[static_cast<std::size_t>(at - requests_.begin())].id;
  }

  ordered_json names(const auto& requests) const {
    ordered_json list = ordered_json::array();
    for (const Request* request : requests) list.push_back(name(*request));
    return list;
  }

  ordered_json add_arrivals(int step) {
    ordered_json added = ordered_json::array();
    for (; next_arrival_ < by_arrival_.size(); ++next_arrival_) {
      const std::size_t i = by_arrival_[next_arrival_];
      if (workload_.requests[i].arrival_step > step) break;
      scheduler_.submit(requests_[i]);
      added.push_back(workload_.requests[i].id);
    }
    return added;
  }

  ordered_json apply_aborts(int step) {
    ordered_json aborted = ordered_json::array();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const ScriptedRequest& scripted = workload_.requests[i];
      const bool live =
          requests_[i].status < engine::RequestStatus::finished && scripted.arrival_step <= step;
      if (scripted.abort_step != step || !live) continue;
      scheduler_.abort(requests_[i]);
      aborted.push_back(scripted.id);
    }
    return aborted;
  }

  ordered_json scheduled() const {
    static constexpr const char* kKinds[] = {"new", "resumed", "running"};
    ordered_json list = ordered_json::array();
    for (const engine::ScheduledRequest& share : plan_.scheduled) {
      const Request& r = *share.request;
      const auto table = std::span<const BlockId>(r.blocks);
      ordered_json sampled;
      if (share.samples) sampled = r.spec.forced[r.outputs.size()];
      list.push_back(
          {{"id", name(r)},
           {"kind", kKinds[static_cast<int>(share.kind)]},
           {"num_tokens", share.num_tokens},
           {"num_computed_before", share.computed_before},
           {"block_ids", ids_of(table)},
           {"new_block_ids", ids_of(table.last(static_cast<std::size_t>(share.num_new_blocks)))},
           {"sampled", sampled}});
    }
    return list;
  }

  ordered_json line(int step) {
    ordered_json record{{"step", step}, {"added", add_arrivals(step)}};
    if (ordered_json aborted = apply_aborts(step); !aborted.empty()) record["aborted"] = aborted;
    kv_.clear_evictions();
    scheduler_.schedule(plan_, Nanos{0});
    record["scheduled"] = scheduled();
    record["preempted"] = names(plan_.preempted);
    record["waiting"] = names(order_->in_service_order());
    record["running"] = ordered_json::array();
    for (const Request* r = scheduler_.running().front(); r; r = engine::RunningList::next(*r)) {
      record["running"].push_back(name(*r));
    }
    record["free_blocks"] = kv_.num_free();
    const double usage = 1.0 - static_cast<double>(kv_.num_free()) / kv_.num_usable();
    record["kv_usage"] = std::round(usage * 1e9) / 1e9;
    record["common_prefix_blocks"] = common_prefix_blocks();
    record["evicted"] = ordered_json::array();
    for (const engine::Eviction& lost : kv_.evictions())
      record["evicted"].push_back(engine::index(lost.block));

    std::vector<Request*> finished;
    scheduler_.apply(plan_, {}, Nanos{0}, Nanos{0}, finished);
    record["finished"] = names(finished);
    record["free_blocks_after"] = kv_.num_free();
    record["free_queue_head"] = free_queue(8);
    record["cached_hashes"] = kv_.prefix_cache().num_hashes();
    return record;
  }

  /// Far more steps than a workload needs if every step makes progress.
  std::int64_t most_steps() const {
    std::int64_t tokens = 0, last_arrival = 0;
    for (const ScriptedRequest& scripted : workload_.requests) {
      tokens += static_cast<std::int64_t>(scripted.prompt.size() + scripted.outputs.size());
      last_arrival = std::max<std::int64_t>(last_arrival, scripted.arrival_step);
    }
    return last_arrival + 100 + 100 * tokens;
  }

  int common_prefix_blocks() const {
    const Request* first = scheduler_.running().front();
    if (first == nullptr || !workload_.kv.prefix_caching) return 0;
    return kv_.common_prefix_blocks(*first, static_cast<int>(scheduler_.running().size()));
  }

  ordered_json free_queue(int most) const {
    ordered_json ids = ordered_json::array();
    BlockId block = kv_.pool().free_head();
    for (int i = 0; i < most && block != BlockId{0}; ++i, block = kv_.pool().next_free(block)) {
      ids.push_back(engine::index(block));
    }
    return ids;
  }

  ordered_json last_line(int steps) const {
    ordered_json cached = ordered_json::array();
    for (std::uint32_t i = 1; i <= static_cast<std::uint32_t>(kv_.num_usable()); ++i) {
      if (kv_.prefix_cache().contains(BlockId{i})) cached.push_back(i);
    }
    return {{"end", true},
            {"steps", steps},
            {"free_queue", free_queue(kv_.num_usable())},
            {"cached_block_ids", cached}};
  }

  const SchedulerWorkload& workload_;
  std::unique_ptr<engine::QueueOrder> order_;
  std::unique_ptr<engine::RetentionPolicy> retention_;
  engine::KvCache kv_;
  engine::Pins pins_;
  engine::NoTier tier_;
  engine::Scheduler scheduler_;
  engine::StepPlan plan_;
  std::deque<Request> requests_;         // in file order
  std::vector<std::size_t> by_arrival_;  // positions in file order, by arrival step
  std::size_t next_arrival_ = 0;
};

}  // namespace

void replay_scheduling(const std::string& workload_path, std::ostream& out) {
  const SchedulerWorkload workload = load_scheduler_workload(workload_path);
  Replay(workload).run(out);
}

}  // namespace worker
