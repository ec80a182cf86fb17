// The queue in the order of a plugin's ranks.
#include <cmath>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/order/ranked_queue.hpp"
#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/plugin.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::Nanos;
using engine::Request;

class PluginOrder final : public RankedOrder<PluginOrder> {
 public:
  explicit PluginOrder(std::shared_ptr<Plugin> plugin)
      : plugin_(std::move(plugin)), table_(plugin_->table()) {}

  void push(Request& request) override {
    plugin_->arrived(request);
    join(request, false);
  }
  void push_preempted(Request& request) override { join(request, true); }
  void put_back(Request& request) override { join(request, request.num_preemptions > 0); }
  void remove(Request& request) override {
    RankedOrder::remove(request);
    jobs_[request.spec.job].waiting = nullptr;
  }

  void begin_step(Nanos now, const engine::PrefixCache&) override {
    now_ = now;
    if (table_.rank_each_step == 0) return;
    const std::vector<const Request*> before = in_service_order();
    for (const Request* each : before) RankedOrder::remove(*waiting(*each));
    for (const Request* each : before) enter(jobs_[each->spec.job]);
  }
  void on_turn_end(const Request& request, Nanos now) override { plugin_->ended(request, now); }
  void on_pin_changed(JobId id, bool pinned) override {
    JobState& job = jobs_[id];
    job.pinned = pinned;
    if (job.waiting == nullptr) return;
    RankedOrder::remove(*job.waiting);
    enter(job);
  }
  Request& choose_victim(const engine::RunningList& running) const override {
    if (table_.choose_victim == nullptr) return *running.back();
    std::vector<kvsweep_turn> turns;
    for (const Request* r = running.front(); r != nullptr; r = running.next(*r))
      turns.push_back(described(*r, pinned(*r)));
    const std::uint64_t id = plugin_->ask("choose_victim", table_.choose_victim, turns.data(),
                                          static_cast<std::int32_t>(turns.size()));
    for (Request* r = running.front(); r != nullptr; r = running.next(*r))
      if (engine::index(r->id) == id) return *r;
    reject_answer("preempts turn id " + std::to_string(id) + ", which is none of the " +
                  std::to_string(turns.size()) + " that run");
  }

  std::tuple<double, std::uint64_t> rank(const Request& request) const {
    const JobState& job = jobs_[request.spec.job];
    return {job.rank, job.joined};
  }

 private:
  struct JobState {
    bool pinned = false;
    Request* waiting = nullptr;  // a job has one turn at a time
    double rank = 0;             // of that turn
    std::uint64_t joined = 0;
    bool again = false;
  };

  void join(Request& request, bool again) {
    JobState& job = jobs_[request.spec.job];
    if (job.waiting != nullptr) throw std::logic_error("two turns of a job wait at a time");
    job.waiting = &request;
    job.joined = ++joins_;
    job.again = again;
    enter(job);
  }
  /// Adds the job's turn where its present rank puts it.
  void enter(JobState& job) {
    job.rank = rank_of(job);
    RankedOrder::push(*job.waiting);
  }
  double rank_of(const JobState& job) {
    const kvsweep_waiting waiting{.turn = described(*job.waiting, job.pinned),
                                  .joined = job.joined,
                                  .again = job.again,
                                  .unused = 0};
    const double rank = plugin_->ask("rank_turn", table_.rank_turn, &waiting, now_.count());
    if (std::isnan(rank))
      reject_answer("gives turn " + std::to_string(waiting.turn.number) + " of job " +
                    std::to_string(waiting.turn.job) + " no number as its rank in the queue (NaN)");
    return rank;
  }
  Request* waiting(const Request& request) { return jobs_[request.spec.job].waiting; }
  bool pinned(const Request& request) const {
    const JobState* job = jobs_.find(request.spec.job);
    return job != nullptr && job->pinned;
  }

  std::shared_ptr<Plugin> plugin_;
  const kvsweep_policy& table_;
  Nanos now_{0};
  std::uint64_t joins_ = 0;
  ByJob<JobState> jobs_;
};

}  // namespace

std::unique_ptr<engine::QueueOrder> make_plugin_order(std::shared_ptr<Plugin> plugin) {
  plugin->require("order");
  return std::make_unique<PluginOrder>(std::move(plugin));
}

}  // namespace policies
