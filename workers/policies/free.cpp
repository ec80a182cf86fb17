// Keeps nothing: the blocks of a finished turn go to the free list at once, and their content stays
// cached until it is evicted.
#include <memory>

#include "workers/engine/step/retention.hpp"
#include "workers/policies/config.hpp"

namespace policies {
namespace {

class Free final : public engine::RetentionPolicy {
 public:
  void on_arrival(const engine::Request&) override {}
  engine::GapDecision on_turn_finish(const engine::Request&, engine::Nanos) override { return {}; }
};

}  // namespace

std::unique_ptr<engine::RetentionPolicy> make_free_retention(const PolicyConfig&) {
  return std::make_unique<Free>();
}

}  // namespace policies
