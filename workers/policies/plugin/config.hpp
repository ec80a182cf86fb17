#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "workers/engine/base/clock.hpp"

namespace policies {

class Plugin;

/// The cost of a plugin's functions so far.
struct PluginUse {
  std::int64_t calls = 0;
  engine::Nanos time{0};  // of the host, on the wall clock
};

struct PluginConfig {
  std::string path{};              // of the shared object, from the working directory; empty: none
  engine::Nanos time_limit{0};     // of one call on the wall clock; 0: none
  int num_blocks = 0;              // of the pool, without the null block
  int block_size = 16;             // tokens
  std::array<double, 4> values{};  // of its own parameters
  PluginUse* use = nullptr;        // borrowed; null: not counted
  std::shared_ptr<Plugin> loaded{};  // with the state of one cell; see with_plugin()
};

}  // namespace policies
