#pragma once
#include <optional>
#include <string>
#include <vector>

#include "workers/workload/chat_format.hpp"
#include "workers/workload/input/json_lines.hpp"

namespace workload {

/// What a recording holds about one turn besides its message.
struct RecordedTurn {
  std::string tool;                             // empty: not recorded
  std::optional<double> exec_s = std::nullopt;  // how long the tool ran
};

/// One row of a trajectory file, validated but not tokenized.
struct RecordedJob {
  std::string id;
  int line;
  std::vector<ChatMessage> messages;  // ends with the last turn's answer
  std::vector<RecordedTurn> turns;    // one for each turn; empty when the row has no entry
};

/// Reads a row {id | traj_id | instance_id, messages, turns?}. The first id present counts, since
/// one instance may have several trajectories. `messages` is a list or its JSON text. A content is
/// text, null or a list of {"type": "text", "text": ...}. turns[k] belongs to the k-th assistant
/// message that is not a few-shot example ("is_demo": true or "tool": "demo"). Throws
/// engine::InputError naming line, field, what was found and what is allowed.
RecordedJob parse_job(const Json& row, const InputPlace& place);

}  // namespace workload
