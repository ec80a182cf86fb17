#include "workers/engine/host_tier.hpp"

namespace engine {

HostTier& no_tier() {
  static HostTier nothing;
  return nothing;
}

}  // namespace engine
