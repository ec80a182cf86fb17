// The queue order of a shared object that the sweep names.
#include "workers/policies/config.hpp"
#include "workers/policies/plugin/factory.hpp"

namespace policies {

std::unique_ptr<engine::QueueOrder> make_plugin_order(const PolicyConfig& config) {
  return make_plugin_order(config.plugin);
}

}  // namespace policies
