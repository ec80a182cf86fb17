#include "workers/engine/step/host_tier.hpp"

namespace engine {

HostTier& no_tier() {
  static HostTier nothing;
  return nothing;
}

}  // namespace engine
