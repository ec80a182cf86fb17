// Cells on sim whose turns are served in an order that the test gives.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "workers/cell/client.hpp"
#include "workers/cell/execution.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/policies/factory.hpp"

namespace bounds_test {

/// The job that each turn belongs to, the first one served first: an interleaving of the jobs.
using Interleaving = std::vector<int>;

/// Whether a free place waits for the next turn in the order, although others are there.
enum class Patience : std::uint8_t { none, waits };

/// Serves waiting turns by their place in an interleaving. The pool must hold all jobs: nothing may
/// be preempted.
class GivenOrder final : public engine::QueueOrder {
 public:
  GivenOrder(const Interleaving& order, Patience patience) : patience_(patience) {
    std::map<int, int> turns;
    for (const int job : order) places_.try_emplace({job, turns[job]++}, std::ssize(places_));
  }

  void push(engine::Request& request) override { waiting_[place(request)] = &request; }
  void push_preempted(engine::Request&) override {
    throw std::logic_error("the pool is too small");
  }
  engine::Request* front() const override {
    if (waiting_.empty()) return nullptr;
    const auto& [place, request] = *waiting_.begin();
    return patience_ == Patience::waits && place != served_ ? nullptr : request;
  }
  void remove(engine::Request& request) override {
    waiting_.erase(place(request));
    ++served_;
  }
  int size() const override { return front() == nullptr ? 0 : static_cast<int>(waiting_.size()); }
  engine::Request& choose_victim(const engine::RunningList&) const override {
    throw std::logic_error("the pool is too small");
  }
  std::vector<const engine::Request*> in_service_order() const override {
    std::vector<const engine::Request*> all;
    for (const auto& [place, request] : waiting_) all.push_back(request);
    return all;
  }

 private:
  std::ptrdiff_t place(const engine::Request& request) const {
    return places_.at({static_cast<int>(engine::index(request.spec.job)), request.spec.turn});
  }

  Patience patience_;
  std::map<std::pair<int, int>, std::ptrdiff_t> places_;  // by job and turn
  std::map<std::ptrdiff_t, engine::Request*> waiting_;
  std::ptrdiff_t served_ = 0;
};

/// When the last turn of each job ended.
class Ends final : public engine::TraceSink {
 public:
  void on_step(const engine::StepTrace& trace) override {
    for (const engine::Request* request : trace.finished)
      by_job[engine::index(request->spec.job)] = engine::to_seconds(trace.end);
  }
  std::map<std::uint32_t, double> by_job;
};

/// Mean time from a job's arrival to its last token, with the turns of the cell served in this
/// order, whatever policy it names.
inline double mean_jct_s(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads,
                         const Interleaving& turns, Patience patience) {
  const worker::Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  worker::Executor executor;
  const auto execution = executor.prepare(config);
  GivenOrder order(turns, patience);
  const auto retention = policies::make_retention({});
  Ends ends;
  engine::Engine engine(config.engine, execution->clock(), execution->backend(), order, *retention,
                        ends);
  worker::Client client(load.workload, load.arrivals, 0, config.engine.kv.block_size,
                        worker::TokenUse::counted, engine);
  worker::serve(client, engine, execution->clock(), {});
  double sum = 0;
  for (const auto& [job, end] : ends.by_job) sum += end - engine::to_seconds(load.arrivals[job]);
  return sum / static_cast<double>(ends.by_job.size());
}

}  // namespace bounds_test
