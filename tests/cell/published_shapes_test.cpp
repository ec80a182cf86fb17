#include <map>

#include "sweeps/definition/cell.hpp"
#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"

namespace {

/// Mean jct_wall over the repeats of sweeps/experiments/order-h100.toml, by policy and rate.
class OrderOnH100 {
 public:
  OrderOnH100() {
    const auto spec = sweep::load_spec("sweeps/experiments/order-h100.toml");
    repeats_ = static_cast<double>(spec.repeat.n);
    worker::WorkloadCache workloads;
    for (const sweep::Cell& cell : sweep::expand(spec, support::key_rules())) {
      const auto policy = std::get<std::string>(cell.params.at("policy").value);
      if (policy != "fcfs" && policy != "job_fcfs") continue;
      const auto bound = support::bind(cell.params, cell.seed);
      const auto result = worker::run_experiment(bound.config, workloads);
      mean_jct_[{policy, bound.config.workload.arrivals.rate_per_s}] +=
          support::figure(result, "jct_wall_mean_s") / repeats_;
    }
  }
  double repeats() const { return repeats_; }
  double mean_jct_s(const std::string& policy, double jps) const {
    return mean_jct_.at({policy, jps});
  }

 private:
  double repeats_ = 0;
  std::map<std::pair<std::string, double>, double> mean_jct_;
};

}  // namespace

TEST_CASE("FCFS on an H100 has the published completion times, and queue order alone wins 2.5x") {
  const OrderOnH100 measured;
  REQUIRE(measured.repeats() == 5);
  // Published means of 100 agents with 1 s tools, H100 80 GB, budget 2,048.
  const std::map<double, double> published_s = {{1, 41.0}, {3, 232.9}, {6, 276.0}, {10, 281.0}};
  for (const auto& [jps, jct_s] : published_s) {
    const double fcfs = measured.mean_jct_s("fcfs", jps);
    const double job_fcfs = measured.mean_jct_s("job_fcfs", jps);
    INFO("jps " << jps << ": fcfs " << fcfs << " s, job_fcfs " << job_fcfs << " s");
    CHECK(fcfs == Approx(jct_s).epsilon(0.15));
    if (jps >= 3) CHECK(fcfs >= 2.5 * job_fcfs);
  }
}
