#include "tests/gpu/backend/device_bench.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <stdexcept>

#include "tests/cpu/random_serving.hpp"
#include "tests/gpu/backend/late_stores.hpp"

namespace gpu_backend_test {
namespace {

using backends::CopyFault;
using backends::cuda::BlockArena;
using backends::cuda::CudaCopier;
using cpu_test::Serving;
using engine::CopyDirection;
using engine::CopyId;

/// Records the device's samples and logits of every row. Of a step that is launched behind another
/// it reads the logits before the next one overwrites them.
class Recorded final : public engine::Backend {
 public:
  explicit Recorded(backends::cuda::GpuBackend& backend) : backend_(backend) {}
  engine::StepResult execute(const engine::StepPlan& plan) override {
    const engine::StepResult result = backend_.execute(plan);
    keep_logits(plan);
    keep_tokens(result);
    return result;
  }
  void launch(const engine::StepPlan& plan) override {
    backend_.launch(plan);
    backends::cuda::check(cudaDeviceSynchronize(), "waiting for a launched step");
    keep_logits(plan);
  }
  engine::StepResult wait() override {
    const engine::StepResult result = backend_.wait();
    keep_tokens(result);
    return result;
  }
  DeviceBench::Rows rows;

 private:
  void keep_logits(const engine::StepPlan& plan) {
    std::vector<DeviceBench::Where>& step = in_flight_.emplace_back();
    for (const engine::ScheduledRequest& share : plan.scheduled) {
      const engine::Request& request = *share.request;
      if (share.samples)
        step.emplace_back(static_cast<int>(index(request.spec.job)), request.spec.turn,
                          request.num_outputs() + share.in_flight);
    }
    const std::vector<float> logits = backend_.logits();
    const std::size_t vocab = step.empty() ? 0 : logits.size() / step.size();
    auto first = logits.begin();
    for (const DeviceBench::Where& where : step) {
      const auto last = first + static_cast<std::ptrdiff_t>(vocab);
      rows[where].logits.assign(first, last);
      first = last;
    }
  }
  void keep_tokens(const engine::StepResult& result) {
    const std::vector<DeviceBench::Where> step = std::move(in_flight_.front());
    in_flight_.pop_front();
    for (std::size_t row = 0; row < step.size(); ++row) rows[step[row]].token = result.sampled[row];
  }

  backends::cuda::GpuBackend& backend_;
  std::deque<std::vector<DeviceBench::Where>> in_flight_;  // the rows of each step, oldest first
};

/// The device's part of a cell, with its own host memory if there is a tier.
class Device {
 public:
  Device(const backends::cuda::DeviceWeights& weights, const Serving& serving)
      : backend_(make_backend(weights, cell_of(serving))), recorded(*backend_) {
    const engine::TierConfig& tier = serving.engine.tier;
    if (tier.kind == engine::TierKind::none) return;
    memory_ = std::make_unique<backends::HostMemory>(
        serving.pinned_host ? cuda_locking() : backends::PageLocking{},
        backends::HostMemoryOptions{.piece_bytes = std::size_t{4} << 20});
    memory_->reserve(static_cast<int>(tier.host_blocks),
                     static_cast<std::size_t>(backend_->block_bytes()));
    add_copier(serving);
  }

  engine::BlockCopier* copier() {
    if (late_stores_) return &*late_stores_;
    return copier_ ? &*copier_ : nullptr;
  }
  std::int64_t loaded_bytes() const {
    return copier_ ? copier_->traffic(CopyDirection::load).bytes : 0;
  }

 private:
  static backends::CudaCellOptions cell_of(const Serving& serving) {
    const engine::KvConfig& kv = serving.engine.kv;
    auto options = small_cell(kv.num_blocks - 1, kv.block_size);
    options.debug = serving.checks == backends::Checks::debug;
    return options;
  }

  void add_copier(const Serving& serving) {
    const auto has = [fault = serving.copy_fault](CopyId id, CopyFault asked) {
      return fault && fault(id) == asked;
    };
    const BlockArena arena{backend_->arena(), backend_->block_bytes()};
    copier_.emplace(
        0, arena, *memory_, backend_->fence(),
        CudaCopier::Options{.debug = serving.checks == backends::Checks::debug,
                            .skip_copy = [=](CopyId id) { return has(id, CopyFault::skip); }});
    if (!serving.copy_fault) return;
    late_stores_.emplace(*copier_, arena, *memory_,
                         [=](CopyId id) { return has(id, CopyFault::complete_early); });
  }

  std::unique_ptr<backends::cuda::GpuBackend> backend_;
  std::unique_ptr<backends::HostMemory> memory_;
  std::optional<CudaCopier> copier_;
  std::optional<LateStores> late_stores_;

 public:
  Recorded recorded;
};

}  // namespace

void DeviceBench::renew_jobs(std::vector<cpu_test::Job> jobs) {
  jobs_ = std::move(jobs);
  const Serving plain = cpu_test::plain_serving(cpu_test::kMaxModelLen, weights_.config().dtype);
  Device device(weights_, plain);
  plain_ = cpu_test::serve_on(device.recorded, jobs_, plain);
  right_ = std::move(device.recorded.rows);
}

cpu_test::Served DeviceBench::serve(const Serving& serving) {
  Device device(weights_, serving);
  cpu_test::Served served =
      cpu_test::serve_on(device.recorded, jobs_, serving, &plain_, device.copier());
  compare(device.recorded.rows);
  loaded_bytes[kind_of(serving)] += device.loaded_bytes();
  return served;
}

void DeviceBench::compare(const Rows& found) {
  if (found.size() != right_.size()) throw std::logic_error("not every token was sampled");
  for (const auto& [where, row] : found) {
    try {
      compare(row, right_.at(where));
    } catch (const std::logic_error& error) {
      const auto& [job, turn, token] = where;
      throw std::logic_error("job " + std::to_string(job) + ", turn " + std::to_string(turn) +
                             ", token " + std::to_string(token) + ": " + error.what());
    }
  }
}

void DeviceBench::compare(const Row& found, const Row& right) {
  double difference = 0, size = 0, largest = 0;
  for (std::size_t i = 0; i < right.logits.size(); ++i) {
    const double d = double{found.logits[i]} - double{right.logits[i]};
    difference += d * d;
    size += std::pow(double{right.logits[i]}, 2);
    largest = std::max(largest, std::abs(d));
  }
  const double distance = std::sqrt(difference / size);
  if (!(distance <= allowed_))
    throw std::logic_error("logits are off by " + std::to_string(distance));
  const auto top = std::max_element(found.logits.begin(), found.logits.end());
  if (found.token != static_cast<engine::TokenId>(top - found.logits.begin()))
    throw std::logic_error("another token than that of the largest logit");
  if (right.logits[right.token] - right.logits[found.token] > 2 * largest)
    throw std::logic_error("another token that is not a near tie");
  ++rows;
  near_ties += found.token != right.token;
  worst = std::max(worst, distance);
}

}  // namespace gpu_backend_test
