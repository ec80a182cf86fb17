#pragma once
#include <optional>
#include <string>

#include "workers/workload/chat_format.hpp"
#include "workers/workload/curation.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// How long tools run between the turns of a job.
struct GapRule {
  bool recorded = false;  // turns[k].exec_s of the file; otherwise gap_s
  double gap_s = 1.0;     // the constant gap
  /// For turns without a recorded time; unset: such a turn is an error.
  std::optional<double> fallback_s = std::nullopt;
};

/// Recorded trajectories as a workload.
struct TrajectoryConfig {
  std::string path;  // JSON lines, plain or .xz; parse_job() says what a line holds
  GapRule gap;
  Curation curation;
  /// Tokens; a chosen job longer than this is an error (Curation::max_context leaves it out).
  std::optional<int> model_context = std::nullopt;
  ToolFallback tool_fallback = ToolFallback::function_tag;
};

struct TrajectorySet {
  Workload workload;  // jobs in the order of the rule; their ids record what was chosen
  Rejections rejected;
  int rows = 0;                 // jobs in the file
  int tools_recorded = 0;       // turns for which the file names a tool itself
  int tools_unlike_record = 0;  // of those, turns with another tool word in the answer
};

/// Reads, curates and tokenizes. Rows outside the turn range are dropped when they are read; the
/// others are held as text until they are chosen. Throws engine::InputError naming file, line and
/// problem: a bad row anywhere in the file, a duplicate id, a context over the model's limit, a
/// missing tool time, fewer jobs than requested.
TrajectorySet read_trajectories(const TrajectoryConfig& config, const Tokenizer& tokenizer);

}  // namespace workload
