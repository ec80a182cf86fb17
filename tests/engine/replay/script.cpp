#include "tests/engine/replay/script.hpp"

#include <algorithm>
#include <cmath>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/factory.hpp"

namespace worker {

using engine::BlockId;
using engine::Request;
using nlohmann::ordered_json;

namespace {

ordered_json ids_of(std::span<const BlockId> blocks) {
  ordered_json ids = ordered_json::array();
  for (const BlockId block : blocks) ids.push_back(engine::index(block));
  return ids;
}

double rounded(double value) { return std::round(value * 1e9) / 1e9; }

ordered_json slots_of(std::span<const engine::HostSlot> slots) {
  ordered_json ids = ordered_json::array();
  for (const engine::HostSlot slot : slots) ids.push_back(engine::index(slot));
  return ids;
}

ordered_json describe_host(const engine::HostStore& host, const SchedulerWorkload& workload) {
  if (!workload.tier->config.arc) return {{"order", slots_of(host.order())}};
  return {{"t1", slots_of(host.order())},
          {"t2", slots_of(host.order(true))},
          {"b1", host.num_ghosts(false)},
          {"b2", host.num_ghosts(true)},
          {"target", rounded(host.wanted_recent())}};
}

}  // namespace

Script::Script(const SchedulerWorkload& workload)
    : workload(workload),
      order(policies::make_order({.order = workload.order})),
      retention(policies::make_retention({})),
      kv(workload.kv),
      pins(kv, *order, *retention),
      tier(make_tier()),
      scheduler(workload.scheduler, kv, *order, pins, *tier) {
  by_arrival_.resize(workload.requests.size());
  for (std::size_t i = 0; i < by_arrival_.size(); ++i) by_arrival_[i] = i;
  std::ranges::stable_sort(by_arrival_, {},
                           [&](std::size_t i) { return workload.requests[i].arrival_step; });
  create_requests();
}

void Script::create_requests() {
  std::vector<std::string> ids;
  for (const ScriptedRequest& scripted : workload.requests) ids.push_back(scripted.id);
  std::ranges::sort(ids);
  for (const ScriptedRequest& scripted : workload.requests) {
    Request& request = requests.emplace_back();
    // Ids break ties in the order of their names.
    const auto rank = std::ranges::lower_bound(ids, scripted.id) - ids.begin();
    request.id = engine::RequestId{static_cast<std::uint32_t>(rank)};
    request.spec.priority = scripted.priority;
    request.spec.prompt = scripted.prompt;
    request.spec.forced = scripted.outputs;
    request.spec.eos = scripted.eos;
    request.spec.max_tokens = static_cast<int>(scripted.outputs.size());
    engine::hash_full_blocks(request, kv.block_size());
  }
  for (std::size_t rank = 0; rank < by_arrival_.size(); ++rank) {
    const auto& time = workload.requests[by_arrival_[rank]].arrival_time;
    requests[by_arrival_[rank]].spec.arrival =
        engine::from_seconds(time.value_or(static_cast<double>(rank)));
  }
}

ordered_json Script::add_arrivals(int step) {
  ordered_json added = ordered_json::array();
  for (; next_arrival_ < by_arrival_.size(); ++next_arrival_) {
    const std::size_t i = by_arrival_[next_arrival_];
    if (workload.requests[i].arrival_step > step) break;
    scheduler.submit(requests[i]);
    added.push_back(workload.requests[i].id);
  }
  return added;
}

ordered_json Script::apply_aborts(int abort_step, int step) {
  ordered_json aborted = ordered_json::array();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ScriptedRequest& scripted = workload.requests[i];
    const bool live = !requests[i].ended() && scripted.arrival_step <= step;
    if (scripted.abort_step != abort_step || !live) continue;
    scheduler.abort(requests[i]);
    aborted.push_back(scripted.id);
  }
  return aborted;
}

const std::string& Script::name(const Request& request) const {
  const auto at = std::ranges::find_if(requests, [&](const Request& r) { return &r == &request; });
  return workload.requests[static_cast<std::size_t>(at - requests.begin())].id;
}

ordered_json Script::share(const engine::ScheduledRequest& share) const {
  static constexpr const char* kKinds[] = {"new", "resumed", "running"};
  const auto table = std::span<const BlockId>(share.request->blocks);
  return {{"id", name(*share.request)},
          {"kind", kKinds[static_cast<int>(share.kind)]},
          {"num_tokens", share.num_tokens},
          {"num_computed_before", share.computed_before},
          {"block_ids", ids_of(table)},
          {"new_block_ids", ids_of(table.last(static_cast<std::size_t>(share.num_new_blocks)))},
          {"sampled", sampled(share)}};
}

ordered_json Script::sampled(const engine::ScheduledRequest& share) {
  if (!share.samples) return {};
  const Request& request = *share.request;
  return request.spec.forced[request.outputs.size() + static_cast<std::size_t>(share.in_flight)];
}

ordered_json Script::waiting() const {
  ordered_json all = ordered_json::array();
  const engine::LoadingList& holding = scheduler.loading();
  for (const Request* r = holding.front(); r; r = engine::LoadingList::next(*r))
    all.push_back(name(*r));
  for (const Request* r : order->in_service_order()) all.push_back(name(*r));
  return all;
}

ordered_json Script::running() const {
  ordered_json list = ordered_json::array();
  for (const Request* r = scheduler.running().front(); r; r = engine::RunningList::next(*r))
    list.push_back(name(*r));
  return list;
}

double Script::kv_usage() const {
  const double usage = 1.0 - static_cast<double>(kv.num_free()) / kv.num_usable();
  return rounded(usage);
}

void Script::describe_common_prefix(bool scheduled, ordered_json& record) const {
  if (newest()) return;
  ordered_json& blocks = record["common_prefix_blocks"];
  if (!scheduled) return;
  const Request* first = scheduler.running().front();
  blocks = 0;
  if (first == nullptr || !workload.kv.prefix_caching) return;
  const auto holders = static_cast<int>(scheduler.running().size());
  const auto differs = std::ranges::find_if(
      first->blocks, [&](engine::BlockId block) { return kv.pool().refs(block) != holders; });
  blocks = static_cast<int>(differs - first->blocks.begin());
}

ordered_json Script::evicted() const {
  ordered_json ids = ordered_json::array();
  for (const engine::Eviction& lost : kv.evictions()) ids.push_back(engine::index(lost.block));
  return ids;
}

ordered_json Script::free_queue(int most) const {
  ordered_json ids = ordered_json::array();
  BlockId block = kv.pool().free_head();
  for (int i = 0; i < most && block != BlockId{0}; ++i, block = kv.pool().next_free(block))
    ids.push_back(engine::index(block));
  return ids;
}

ordered_json Script::last_line(int steps) const {
  ordered_json cached = ordered_json::array();
  for (std::uint32_t i = 1; i <= static_cast<std::uint32_t>(kv.num_usable()); ++i)
    if (kv.prefix_cache().contains(BlockId{i})) cached.push_back(i);
  ordered_json line = {{"end", true},
                       {"steps", steps},
                       {"free_queue", free_queue(kv.num_usable())},
                       {"cached_block_ids", cached}};
  if (connector != nullptr) line["host"] = describe_host(connector->host(), workload);
  return line;
}

void Script::check_progress(int step) const {
  std::int64_t tokens = 0, last_arrival = 0;
  for (const ScriptedRequest& scripted : workload.requests) {
    tokens += static_cast<std::int64_t>(scripted.prompt.size() + scripted.outputs.size());
    last_arrival = std::max<std::int64_t>(last_arrival, scripted.arrival_step);
  }
  if (step > last_arrival + 100 + 100 * tokens)
    throw engine::InputError("the requests evict each other's blocks forever");
}

}  // namespace worker
