// Keeps nothing: the blocks of a finished turn go to the free list at once, and their content stays
// cached until it is evicted.
#include "workers/policies/config.hpp"

namespace policies {
namespace {

class Free final : public engine::RetentionPolicy {
 public:
  void on_arrival(const engine::Request&) override {}
  engine::GapDecision on_turn_finish(const engine::Request&, engine::Nanos) override { return {}; }
};

}  // namespace

RetentionEntry free_retention() { return {"free", RetentionEntry::makes<Free>}; }

}  // namespace policies
