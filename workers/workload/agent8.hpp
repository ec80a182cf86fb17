#pragma once
#include <cstdint>

#include "workers/workload/trajectory.hpp"

namespace workload {

struct Agent8Config {
  int jobs = 100;
  std::int64_t seed = 42;  // of the token ids; the sizes are the same for every seed
  double gap_s = 0.5;      // tool execution after each turn but the last
  /// Whether the client names the tool of a turn. The free-running answers hold no tool block, so
  /// without the hint no tool is known.
  bool tool_hint = false;
  std::uint32_t vocabulary = 128'000;  // token ids lie below
  double scale = 1;  // of the tool outputs, for models and machines that are small
};

/// The synthetic agent of eight turns: every job has the same sizes (prompts of 92 to 13,193
/// tokens, answers of 20), an 80-token system prompt that all jobs share, and otherwise tokens of
/// its own. Throws engine::InputError for a configuration that describes no workload.
Workload make_agent8(const Agent8Config& config);

}  // namespace workload
