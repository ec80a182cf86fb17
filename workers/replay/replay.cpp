#include "workers/replay/replay.hpp"

#include <ostream>

#include "workers/replay/script.hpp"

namespace worker {
namespace {

using engine::Nanos;
using nlohmann::ordered_json;

ordered_json line(Script& script, engine::StepPlan& plan, int step) {
  ordered_json record{{"step", step}, {"added", script.add_arrivals(step)}};
  if (ordered_json aborted = script.apply_aborts(step, step); !aborted.empty())
    record["aborted"] = aborted;
  script.kv.clear_evictions();
  script.scheduler.schedule(plan, Nanos{0});
  record["scheduled"] = ordered_json::array();
  for (const engine::ScheduledRequest& share : plan.scheduled)
    record["scheduled"].push_back(script.share(share));
  record["preempted"] = script.names(plan.preempted);
  record["waiting"] = script.waiting();
  record["running"] = script.running();
  record["free_blocks"] = script.kv.num_free();
  record["kv_usage"] = script.kv_usage();
  record["common_prefix_blocks"] = script.common_prefix_blocks();
  record["evicted"] = script.evicted();

  std::vector<engine::Request*> finished;
  script.scheduler.apply(plan, {}, Nanos{0}, Nanos{0}, finished);
  record["finished"] = script.names(finished);
  record["free_blocks_after"] = script.kv.num_free();
  record["free_queue_head"] = script.free_queue(8);
  record["cached_hashes"] = script.kv.prefix_cache().num_contents();
  return record;
}

}  // namespace

void replay_scheduling(const std::string& workload_path, std::ostream& out) {
  const SchedulerWorkload workload = load_scheduler_workload(workload_path);
  Script script(workload);
  engine::StepPlan plan;
  int step = 0;
  for (; !script.all_arrived() || !script.scheduler.idle(); ++step) {
    script.check_progress(step);
    out << line(script, plan, step).dump() << '\n';
  }
  out << script.last_line(step).dump() << '\n';
}

}  // namespace worker
