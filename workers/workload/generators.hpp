#pragma once
#include <cstdint>

#include "workers/workload/trajectory.hpp"

namespace workload {

struct SweSmithLikeConfig {
  int jobs = 100;
  std::int64_t seed = 42;
  double gap_s = 1.0;  // tool execution after each turn but the last
  int min_turns = 10;  // of a job; 10 to 30 is the published curation rule
  int max_turns = 30;
  int max_context = 16'384;            // most tokens of a job, last answer included
  std::uint32_t vocabulary = 128'000;  // token ids are below this
};

/// Software-engineering agents with the published shape of 100 curated SWE-smith trajectories:
/// 17.91 turns per job (the sum over all jobs is exact), a median prompt of 6,945 tokens over all
/// turns, a median answer of 30, the published tool shares, and a system prompt of 604 tokens that
/// all jobs share. Every job ends with `submit`. One factor on all answers and one on all tool
/// outputs set the two medians; with a small max_context or few jobs they are matched as closely as
/// possible. In a job that reaches max_context, later tools return only their framing. Throws
/// engine::InputError for a configuration that describes no workload.
Workload make_swe_smith_like(const SweSmithLikeConfig& config);

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
