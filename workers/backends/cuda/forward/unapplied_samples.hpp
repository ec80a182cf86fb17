#pragma once
#include <cstdint>
#include <vector>

#include "workers/backends/step_batch.hpp"

namespace backends::cuda {

/// A token that a step samples.
struct SampledRow {
  engine::RequestId request;
  int position;  // of the token whose logits it is sampled from
};

/// Which tokens of a step are samples of the step before that no one has read yet: they are known
/// on the device alone.
class UnappliedSamples {
 public:
  struct Taken {
    int row;     // in StepBatch::tokens
    int sample;  // index among the tokens that the step before sampled
  };

  /// Fills `batch`. Tokens that are not known are 0, and listed by taken().
  void fill(const engine::StepPlan& plan, int block_size, StepBatch& batch) {
    batch.fill(plan, block_size, places_);
    taken_.clear();
    for (std::size_t row = 0; row < batch.tokens.size(); ++row) {
      std::int32_t& token = batch.tokens[row];
      if (token >= 0) continue;
      taken_.push_back({static_cast<int>(row), place_of(token)});
      token = 0;
    }
  }
  const std::vector<Taken>& taken() const { return taken_; }

  /// From now on the step before is this one.
  void keep(const engine::StepPlan& plan) {
    samples_.clear();
    for (const engine::ScheduledRequest& share : plan.scheduled)
      if (share.samples) samples_.push_back(token_at(static_cast<int>(samples_.size())));
    places_.keep(plan, samples_);
  }
  /// All samples have been read.
  void clear() { places_ = {}; }

 private:
  // Token ids are below 2^31. A place counts down from the highest id.
  static engine::TokenId token_at(int sample) { return static_cast<engine::TokenId>(-1 - sample); }
  static int place_of(std::int32_t token) { return -1 - token; }

  UnappliedTokens places_;
  std::vector<engine::TokenId> samples_;
  std::vector<Taken> taken_;
};

}  // namespace backends::cuda
