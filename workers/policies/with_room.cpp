// Prefetch without a forecast: KV is loaded back as soon as blocks are free that no job with a
// running tool has KV in, from the moment that its tool starts (at_pause, vLLM's RFC 57103) or that
// its next turn arrives (at_enqueue). What is loaded for a running tool holds no blocks: it is
// evicted like all other KV, and loaded again as long as the prefetcher allows.
#include <memory>

#include "workers/policies/factory.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::LoadTime;
using engine::Nanos;

class WithRoom final : public engine::PrefetchPolicy {
 public:
  WithRoom(const ReloadCost& reload, bool while_away) : reload_(reload), while_away_(while_away) {}

  void on_arrival(const engine::Request&) override {}
  void on_turn_finish(const engine::Request&, Nanos) override {}
  LoadTime load_time(JobId, bool arrived) const override {
    return arrived || while_away_ ? LoadTime::with_room : LoadTime::on_demand;
  }
  /// All as late as each other: of jobs with running tools the one that paused first is evicted
  /// first, and none for the sake of another.
  Nanos returns_by(JobId, double, Nanos now) const override { return now + std::chrono::hours{1}; }
  double recompute_s(int context, int missing) const override {
    return reload_.seconds(context) - reload_.seconds(context - missing);
  }
  double score(const engine::AwaitedKv& kv, const engine::Scarcity&) const override {
    return recompute_s(kv.context_tokens, kv.missing_tokens);
  }
  bool ranks_host_tier() const override { return false; }

 private:
  ReloadCost reload_;
  bool while_away_;
};

}  // namespace

std::unique_ptr<engine::PrefetchPolicy> make_with_room_prefetch(const ReloadCost& reload,
                                                                bool while_away) {
  return std::make_unique<WithRoom>(reload, while_away);
}

}  // namespace policies
