#pragma once
#include <cstdint>
#include <memory>
#include <tuple>

#include "workers/engine/base/request.hpp"
#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/estimators/gap_forecast.hpp"

namespace policies {

/// When a job uses its KV next, among others: the greatest is used last.
struct NextUseOfJob {
  bool away;              // its tool runs
  engine::Nanos returns;  // away: when its next turn is expected
  std::uint32_t place;    // otherwise, among the turns that wait
  std::uint32_t job;
  bool operator<(const NextUseOfJob& other) const {
    return std::tie(away, returns, place) < std::tie(other.away, other.returns, other.place);
  }
};

/// The running tool of each job, and the estimator that learns when it returns.
class ToolCalls {
 public:
  explicit ToolCalls(std::unique_ptr<GapEstimator> estimator) : estimator_(std::move(estimator)) {}

  /// The turn has finished and its tool starts. The forecast is valid until the next on_arrival().
  std::optional<GapForecast> start(const engine::Request& request, engine::Nanos now) {
    Running& call = calls_[request.spec.job];
    call = {true, {request.spec.job, request.spec.turn, request.spec.tool}, now};
    return estimator_->forecast(call.call);
  }

  /// The current forecast of the job's tool. Valid until the next on_arrival().
  std::optional<GapForecast> forecast(engine::JobId job) const {
    const Running* call = calls_.find(job);
    return call == nullptr ? std::nullopt : estimator_->forecast(call->call);
  }
  /// The time by which the tool has returned with this probability, given that it runs at `now`.
  /// Without a forecast, as if tools took their mean time.
  engine::Nanos returns_by(engine::JobId job, double probability, engine::Nanos now) const {
    const auto known = forecast(job);
    const GapForecast gap = known ? *known : GapForecast::exponential(mean(), Evidence::prior);
    const engine::Nanos elapsed = now - started(job);
    return now - elapsed + gap.quantile_after(elapsed, probability);
  }
  engine::Nanos started(engine::JobId job) const { return calls_.at(job).started; }
  /// Mean duration of all tools that have returned; 1 s before the first.
  engine::Nanos mean() const {
    return returned_ == 0 ? engine::Nanos{std::chrono::seconds{1}} : total_ / returned_;
  }

  /// The next turn arrived, so its tool has returned. The estimator learns nothing from a client
  /// that submits before the tool started.
  void on_arrival(const engine::Request& request) {
    Running& call = calls_[request.spec.job];
    const engine::Nanos took = request.spec.arrival - call.started;
    if (call.active && took > engine::Nanos{0}) {
      estimator_->learn(call.call, took);
      total_ += took;
      ++returned_;
    }
    call.active = false;
  }

 private:
  struct Running {
    bool active = false;
    GapCall call{};
    engine::Nanos started{0};
  };

  std::unique_ptr<GapEstimator> estimator_;
  ByJob<Running> calls_;
  engine::Nanos total_{0};
  int returned_ = 0;
};

}  // namespace policies
