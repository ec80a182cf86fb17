#pragma once
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "tests/cpu/shipped_ways.hpp"
#include "tests/gpu/backend/gpu_world.hpp"

namespace gpu_backend_test {

/// A small model on device 0 that serves jobs with a real host tier. The correct result is that of
/// the same jobs served one by one in a single pass each, without a tier, on the same device.
/// Results differ by rounding, since other rows share the steps: a row of logits may be off by
/// `allowed` (relative L2 distance), and another token may be sampled if the two are as close in
/// the correct logits as the rows differ.
class DeviceBench final : public cpu_test::Bench {
 public:
  DeviceBench(const model::ModelConfig& config, double allowed)
      : weights_(on_device(config)), allowed_(allowed) {}

  int vocab() const override { return weights_.config().shape.vocab; }
  void renew_jobs(std::vector<cpu_test::Job> jobs) override;
  /// Of the faults of copies, `complete_early` only applies to stores: see LateStores.
  cpu_test::Served serve(const cpu_test::Serving& serving) override;

  /// Over all correct rows.
  std::int64_t rows = 0, near_ties = 0;
  double worst = 0;
  std::map<std::string, std::int64_t> loaded_bytes;  // by kind of tier

  using Where = std::tuple<int, int, int>;  // job, turn and position in the turn's answer
  struct Row {
    engine::TokenId token{};  // the device's sample
    std::vector<float> logits;
  };
  using Rows = std::map<Where, Row>;

 private:
  void compare(const Rows& found);
  void compare(const Row& found, const Row& right);

  backends::cuda::DeviceWeights weights_;
  double allowed_;
  std::vector<cpu_test::Job> jobs_;
  cpu_test::Served plain_;
  Rows right_;
};

}  // namespace gpu_backend_test
