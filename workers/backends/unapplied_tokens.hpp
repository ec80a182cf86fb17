#pragma once
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "workers/engine/step/step.hpp"

namespace backends {

/// The tokens that the last step sampled. Under asynchronous scheduling they are inputs of the next
/// step before the engine knows them.
class UnappliedTokens {
 public:
  /// `sampled` has one token for each share that samples, in order.
  void keep(const engine::StepPlan& plan, std::span<const engine::TokenId> sampled) {
    last_.clear();
    for (const engine::ScheduledRequest& share : plan.scheduled) {
      if (!share.samples) continue;
      last_.emplace_back(share.request->id, sampled[last_.size()]);
    }
  }

  /// The token of the request at this position. Throws std::logic_error when no step sampled it.
  engine::TokenId at(const engine::Request& request, int position) const {
    if (position < request.num_tokens()) return request.token(position);
    const auto output = static_cast<std::size_t>(position - request.num_prompt());
    if (output < request.spec.forced.size()) return request.spec.forced[output];
    for (const auto& [id, token] : last_)
      if (id == request.id) return token;
    throw std::logic_error("a step computes a token that no step has sampled");
  }

 private:
  std::vector<std::pair<engine::RequestId, engine::TokenId>> last_;
};

}  // namespace backends
