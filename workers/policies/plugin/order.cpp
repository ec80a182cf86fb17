// The queue in the order of a plugin's ranks.
#include <cmath>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/plugin.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::Nanos;
using engine::Request;

class PluginOrder final : public engine::QueueOrder {
 public:
  explicit PluginOrder(std::shared_ptr<Plugin> plugin)
      : plugin_(std::move(plugin)), table_(plugin_->table()) {}

  void push(Request& request) override {
    plugin_->arrived(request);
    join(request, false);
  }
  void push_preempted(Request& request) override { join(request, true); }
  void put_back(Request& request) override { join(request, request.num_preemptions > 0); }
  Request* front() const override { return service_.empty() ? nullptr : service_.begin()->request; }
  void remove(Request& request) override {
    const auto place = places_.find(request.id);
    service_.erase(place->second);
    places_.erase(place);
    state_of(request.spec.job).waiting = nullptr;
  }
  int size() const override { return static_cast<int>(service_.size()); }

  std::vector<const Request*> in_service_order() const override {
    std::vector<const Request*> all;
    for (const Place& place : service_) all.push_back(place.request);
    return all;
  }

  void begin_step(Nanos now, const engine::PrefixCache&) override {
    now_ = now;
    if (table_.rank_each_step == 0) return;
    const std::set<Place> before = std::move(service_);
    service_.clear();
    for (const Place& place : before) enter(place);
  }
  void on_turn_end(const Request& request, Nanos now) override { plugin_->ended(request, now); }
  void on_pin_changed(JobId id, bool pinned) override {
    JobState& job = state_of(id);
    job.pinned = pinned;
    if (job.waiting == nullptr) return;
    const auto place = places_.at(job.waiting->id);
    const Place before = *place;
    service_.erase(place);
    enter(before);
  }
  Request& choose_victim(const engine::RunningList& running) const override;

 private:
  struct Place {
    double rank;
    std::uint64_t joined;
    Request* request;
    bool again;
    bool operator<(const Place& other) const {
      return std::tie(rank, joined) < std::tie(other.rank, other.joined);
    }
  };
  struct JobState {
    bool pinned = false;
    Request* waiting = nullptr;  // a job has one turn at a time
  };

  void join(Request& request, bool again) {
    state_of(request.spec.job).waiting = &request;
    enter({0, ++joins_, &request, again});
  }
  /// Adds the turn where its present rank puts it.
  void enter(Place place) {
    place.rank = rank_of(place);
    places_[place.request->id] = service_.insert(place).first;
  }
  double rank_of(const Place& place);
  bool pinned(const Request& request) const {
    const auto job = engine::index(request.spec.job);
    return job < jobs_.size() && jobs_[job].pinned;
  }
  JobState& state_of(JobId job) {
    if (engine::index(job) >= jobs_.size()) jobs_.resize(engine::index(job) + 1);
    return jobs_[engine::index(job)];
  }

  std::shared_ptr<Plugin> plugin_;
  const kvsweep_policy& table_;
  Nanos now_{0};
  std::uint64_t joins_ = 0;
  std::vector<JobState> jobs_;
  std::set<Place> service_;
  std::unordered_map<engine::RequestId, std::set<Place>::iterator> places_;  // of service_
};

double PluginOrder::rank_of(const Place& place) {
  const kvsweep_waiting waiting{.turn = described(*place.request, pinned(*place.request)),
                                .joined = place.joined,
                                .again = place.again,
                                .unused = 0};
  const double rank = plugin_->ask("rank_turn", table_.rank_turn, &waiting, now_.count());
  if (std::isnan(rank))
    reject_answer("gives turn " + std::to_string(waiting.turn.number) + " of job " +
                  std::to_string(waiting.turn.job) + " no number as its rank in the queue (NaN)");
  return rank;
}

Request& PluginOrder::choose_victim(const engine::RunningList& running) const {
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

}  // namespace

std::unique_ptr<engine::QueueOrder> make_plugin_order(std::shared_ptr<Plugin> plugin) {
  plugin->require("order");
  return std::make_unique<PluginOrder>(std::move(plugin));
}

}  // namespace policies
