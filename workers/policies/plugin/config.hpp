#pragma once
#include <cstdint>
#include <string>

#include "workers/engine/base/clock.hpp"

namespace policies {

/// What the functions of a plugin have cost.
struct PluginUse {
  std::int64_t calls = 0;
  engine::Nanos time{0};  // of the host, on the wall clock
};

struct PluginConfig {
  std::string path{};        // of the shared object, from the working directory; empty: none
  int num_blocks = 0;        // of the pool, without the null block
  int block_size = 16;       // tokens
  PluginUse* use = nullptr;  // borrowed; null: not counted
};

}  // namespace policies
