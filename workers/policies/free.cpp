// Nothing is kept: a finished turn's blocks go to the free list at once, and live on as cached
// content until evicted.
#include <memory>

#include "workers/engine/retention.hpp"
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
