#include "workers/workload/arrivals.hpp"

#include <cmath>

#include "workers/workload/random.hpp"
#include "workers/workload/synthetic_job.hpp"

namespace workload {
namespace {

// 2^63 ns are 292 years. A cell that waits more than 30 years for its jobs has a mistake in the
// rate.
constexpr double kLatest_s = 1e9;
constexpr double kMostArrivals = 1e8;

void check_rate(double rate_per_s) {
  require(std::isfinite(rate_per_s) && rate_per_s > 0, "arrival rate", rate_per_s,
          "a positive number of jobs per second");
}

/// Event times of a Poisson process, in seconds.
class PoissonProcess {
 public:
  PoissonProcess(double rate_per_s, std::int64_t seed) : rate_per_s_(rate_per_s), random_(seed) {
    check_rate(rate_per_s);
  }

  double next() {
    t_s_ += random_.expovariate(rate_per_s_);
    require(t_s_ <= kLatest_s, "arrival rate", rate_per_s_,
            "a rate that brings all jobs within 1e9 seconds");
    return t_s_;
  }

 private:
  double rate_per_s_;
  double t_s_ = 0;
  Random random_;
};

}  // namespace

std::vector<engine::Nanos> poisson_arrivals(double rate_per_s, std::int64_t seed,
                                            std::size_t count) {
  PoissonProcess process(rate_per_s, seed);
  std::vector<engine::Nanos> arrivals;
  arrivals.reserve(count);
  while (arrivals.size() < count) arrivals.push_back(engine::from_seconds(process.next()));
  return arrivals;
}

std::vector<engine::Nanos> poisson_arrivals_in_window(double rate_per_s, std::int64_t seed,
                                                      double window_s) {
  check_rate(rate_per_s);
  require(window_s > 0 && window_s <= kLatest_s, "arrival window", window_s,
          "a positive number of seconds, at most 1e9");
  require(rate_per_s * window_s <= kMostArrivals, "jobs expected in the arrival window",
          rate_per_s * window_s, "at most 1e8");

  std::vector<engine::Nanos> arrivals;
  Random random(seed);
  for (double t_s = random.expovariate(rate_per_s); t_s <= window_s;
       t_s += random.expovariate(rate_per_s))
    arrivals.push_back(engine::from_seconds(t_s));
  return arrivals;
}

std::vector<engine::Nanos> closed_batch(std::size_t count) {
  return std::vector<engine::Nanos>(count, engine::Nanos{0});
}

}  // namespace workload
