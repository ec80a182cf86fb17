#pragma once
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

namespace engine {

/// The one time type: nanoseconds. Instants count from the start of the cell.
using Nanos = std::chrono::nanoseconds;

constexpr double to_seconds(Nanos t) { return static_cast<double>(t.count()) * 1e-9; }
inline Nanos from_seconds(double seconds) { return Nanos{std::llround(seconds * 1e9)}; }

/// Now, on the clock that a WallClock counts from, which all processes of a machine share:
/// CLOCK_MONOTONIC.
Nanos monotonic_now();
/// The calendar time, in a form for people: "2026-01-31T12:00:00Z".
std::string utc_now();
/// Seconds until a Unix time, e.g. SLURM_JOB_END_TIME; negative when it has passed.
double seconds_until(std::int64_t unix_time);

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanos now() const = 0;
  /// Records that a step of this duration was executed. Does nothing on the wall clock, which has
  /// already seen the time pass.
  virtual void advance(Nanos duration) = 0;
  /// Jumps or sleeps until `t`, before which nothing can happen. Returns at once when `t` has
  /// passed.
  virtual void wait_until(Nanos t) = 0;
};

class VirtualClock final : public Clock {
 public:
  Nanos now() const override { return now_; }
  void advance(Nanos duration) override { now_ += duration; }
  void wait_until(Nanos t) override {
    if (t > now_) now_ = t;
  }

 private:
  Nanos now_{0};
};

class WallClock final : public Clock {
 public:
  WallClock();
  Nanos now() const override;
  void advance(Nanos) override {}
  void wait_until(Nanos t) override;
  /// Its zero, on the clock of monotonic_now().
  Nanos origin() const { return origin_; }

 private:
  Nanos origin_;
};

}  // namespace engine
