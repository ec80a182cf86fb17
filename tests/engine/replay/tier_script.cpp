// What a script does with a host tier, and says about it.
#include <algorithm>

#include "tests/engine/replay/script.hpp"

namespace worker {

using engine::CopyDirection;
using engine::Request;
using nlohmann::ordered_json;
using Job = engine::ConnectorTier::Job;

namespace {

ordered_json describe(const Job& job, const std::string& id, int block_size) {
  ordered_json row{{"job", job.number}, {"id", id}};
  ordered_json blocks = ordered_json::array(), slots = ordered_json::array();
  for (const engine::BlockCopy& copy : job.copies) {
    blocks.push_back(engine::index(copy.block));
    slots.push_back(engine::index(copy.slot));
  }
  if (job.direction == CopyDirection::load) {
    row["local"] = job.first * block_size;
    row["external"] = static_cast<int>(job.copies.size()) * block_size;
  }
  row["host_blocks"] = std::move(slots);
  row["gpu_blocks"] = std::move(blocks);
  return row;
}

}  // namespace

std::unique_ptr<engine::HostTier> Script::make_tier() {
  if (!workload.tier) return std::make_unique<engine::NoTier>();
  device.emplace(workload.tier->transfer_steps);
  auto own = std::make_unique<engine::ConnectorTier>(
      workload.tier->config, workload.scheduler.max_num_batched_tokens, kv, *device, pins.events());
  connector = own.get();
  return own;
}

int Script::job_of(std::uint64_t transfer) const {
  const auto job = std::ranges::find_if(connector->jobs(), [&](const auto& each) {
    return each->id == engine::TransferId{transfer};
  });
  return (*job)->number;
}

const std::string& Script::name(engine::RequestId id) const {
  const auto at = std::ranges::find(requests, id, &Request::id);
  return name(*at);
}

void Script::describe_tier(bool scheduled, ordered_json& record) const {
  if (connector == nullptr) return;
  for (const char* list : {"kv_holding", "loading", "deferred", "loads", "stores", "store_failed",
                           "host_evicted", "flush"})
    record[list] = ordered_json::array();
  const engine::LoadingList& holding = scheduler.loading();
  for (const Request* r = holding.front(); r; r = engine::LoadingList::next(*r)) {
    record["kv_holding"].push_back(name(*r));
    if (r->num_hashed_blocks < r->num_computed_tokens / kv.block_size())
      record["loading"].push_back(name(*r));
  }
  if (!scheduled) return;
  for (const auto& job : connector->jobs()) {
    if (job->flush) record["flush"].push_back(job->number);
    if (job->step != connector->last_step()) continue;
    const bool loads = job->direction == CopyDirection::load;
    record[loads ? "loads" : "stores"].push_back(
        describe(*job, name(job->client_id()), kv.block_size()));
  }
  for (const engine::RequestId id : connector->failed_stores())
    record["store_failed"].push_back(name(id));
  for (const engine::HostSlot slot : connector->evicted())
    record["host_evicted"].push_back(engine::index(slot));
}

void Script::run_copies(const engine::StepPlan* plan, ordered_json& record) {
  if (connector == nullptr) return;
  for (const char* list : {"jobs_submitted", "jobs_waited", "jobs_done"})
    record[list] = ordered_json::array();
  if (plan == nullptr) return;
  record["deferred"] = names(plan->deferred);
  clock.advance(engine::Nanos{1});
  std::vector<int> open;
  const auto submit = [&](const auto& run) {
    open.clear();
    for (const auto& job : connector->jobs())
      if (job->id == engine::TransferId::none) open.push_back(job->number);
    run();
    for (const auto& job : connector->jobs())
      if (job->id != engine::TransferId::none && std::ranges::find(open, job->number) != open.end())
        record["jobs_submitted"].push_back(job->number);
  };
  submit([&] { connector->before_execution(*plan, clock); });
  submit([&] { connector->after_execution(*plan, clock); });
  for (const engine::CopyId copy : device->take_waited())
    record["jobs_waited"].push_back(job_of(static_cast<std::uint64_t>(copy)));
  clock.advance(engine::Nanos{1});
  connector->observe(clock.now());
  for (const engine::TransferDone& done : connector->observed().back())
    record["jobs_done"].push_back(job_of(static_cast<std::uint64_t>(done.id)));
}

void Script::apply_copies(bool applies, ordered_json& record) {
  if (connector == nullptr) return;
  std::vector<int> jobs;
  std::vector<std::string> loads;
  if (applies) {
    for (const engine::TransferDone& done : connector->observed().front())
      jobs.push_back(job_of(static_cast<std::uint64_t>(done.id)));
    for (const auto& job : connector->jobs())
      if (job->direction == CopyDirection::load &&
          std::ranges::find(jobs, job->number) != jobs.end())
        loads.push_back(name(job->client_id()));
    scheduler.on_loaded(connector->make_known(), engine::Nanos{0});
  }
  std::ranges::sort(jobs);
  std::ranges::sort(loads);
  record["jobs_applied"] = jobs;
  record["loads_applied"] = loads;
  record["host_used"] = connector->host().num_used();
}

}  // namespace worker
