#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"

namespace policies {

/// The observations behind a forecast.
enum class Evidence : std::uint8_t {
  prior,   // no observation yet
  pooled,  // calls of all tools
  tool,    // calls of this tool
  told,    // given by the client or the recording
};

/// The predicted duration of a tool: a distribution of durations above zero.
class GapForecast {
 public:
  /// A lognormal distribution with this median; without a spread, all of the probability at it.
  /// expected() is the median itself.
  static GapForecast around(engine::Nanos duration, double log_sigma, Evidence evidence);
  /// ln(seconds) is normal.
  static GapForecast lognormal(double log_mean, double log_sigma, Evidence evidence);
  static GapForecast exponential(engine::Nanos mean, Evidence evidence);
  /// The empirical distribution of these durations. Seconds in ascending order, at least one;
  /// borrowed.
  static GapForecast of_samples(std::span<const double> sorted_s, Evidence evidence);

  Evidence evidence() const { return evidence_; }
  engine::Nanos expected() const;
  /// Pr[duration <= t].
  double probability_within(engine::Nanos t) const;
  /// The smallest t with probability_within(t) >= p; p in (0, 1).
  engine::Nanos quantile(double p) const;
  /// The quantile of a tool that has been running for `elapsed`; never below `elapsed`.
  engine::Nanos quantile_after(engine::Nanos elapsed, double p) const;

  /// The hold t >= 0 that is worth most when a return within it saves `benefit_s` and every second
  /// of holding costs one: argmax of benefit_s * Pr[duration <= t] - t, the smallest among equals.
  /// 0 when no hold is worth its cost.
  engine::Nanos best_hold(double benefit_s) const;

  /// The distribution with every duration multiplied by `factor` > 0.
  GapForecast scaled(double factor) const;

 private:
  struct Lognormal {
    double log_mean, log_sigma;  // sigma 0: one value
  };
  struct Exponential {
    double mean_s;
  };
  struct Samples {
    std::span<const double> sorted_s;
  };
  using Shape = std::variant<Lognormal, Exponential, Samples>;
  GapForecast(Shape shape, double expected_s, Evidence evidence)
      : shape_(shape), expected_s_(expected_s), evidence_(evidence) {}

  // Probabilities of the unscaled distribution; times in seconds.
  static double within(const Lognormal& shape, double t);
  static double within(const Exponential& shape, double t);
  static double within(const Samples& shape, double t);
  static double at_quantile(const Lognormal& shape, double p);
  static double at_quantile(const Exponential& shape, double p);
  static double at_quantile(const Samples& shape, double p);
  static double hold(const Lognormal& shape, double benefit_s);
  static double hold(const Exponential& shape, double benefit_s);
  static double hold(const Samples& shape, double benefit_s);

  Shape shape_;
  double expected_s_;
  Evidence evidence_;
  double factor_ = 1;
};

/// A turn's tool call, as known when the turn finishes.
struct GapCall {
  engine::JobId job{};
  int turn = 0;
  engine::ToolId tool = engine::ToolId::none;
};

/// Predicts how long a job's tool will run. Learns from calls that have returned.
class GapEstimator {
 public:
  virtual ~GapEstimator() = default;
  /// Records that the call took `duration`: from the end of the turn to the arrival of the next.
  /// Above zero.
  virtual void learn(const GapCall& call, engine::Nanos duration) = 0;
  /// Empty when the estimator has no basis for a forecast. Valid until the next learn().
  virtual std::optional<GapForecast> forecast(const GapCall& call) const = 0;
};

}  // namespace policies
