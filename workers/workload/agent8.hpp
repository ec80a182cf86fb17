#pragma once
#include <cstdint>

#include "workers/workload/trajectory.hpp"

namespace workload {

struct Agent8Config {
  int jobs = 100;
  std::int64_t seed = 42;  // of the token ids; the sizes are the same for every seed
  double gap_s = 0.5;      // tool execution after each turn but the last
  /// Whether the client names the tool of a turn. Free-running answers hold no tool block, so
  /// without the hint the tool is unknown.
  bool tool_hint = false;
  std::uint32_t vocabulary = 128'000;  // token ids are below this
  double scale = 1;                    // factor on tool outputs, for small models and machines
};

/// The synthetic agent of eight turns. Every job has the same sizes (prompts of 92 to 13,193
/// tokens, answers of 20) and an 80-token system prompt that all jobs share; its other tokens are
/// its own. Throws engine::InputError for a configuration that describes no workload.
Workload make_agent8(const Agent8Config& config);

}  // namespace workload
