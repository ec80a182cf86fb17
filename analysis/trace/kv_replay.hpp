#pragma once
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "sweeps/tables/result.hpp"

namespace analysis {

/// The tier that a job's lost KV was in.
enum class LostFrom : std::uint8_t { nowhere, gpu, host };

/// Replays /kv_events to the state of a step that /steps describes: which jobs hold pins, and which
/// jobs have lost KV.
class KvReplay {
 public:
  /// The result must outlive the replay.
  explicit KvReplay(const sweep::CellResult& result);

  /// Applies the events up to the snapshot of this row of /steps; rows must not decrease. An event
  /// of the step itself is before the snapshot if its time is the step's start (scheduling), and
  /// after it otherwise (the end of turns). Throws std::logic_error when pinned_jobs differs from
  /// the replayed pins.
  void advance_to(std::size_t step_row);

  const std::set<std::int32_t>& pinned_jobs() const { return pinned_; }
  /// The last tier that lost blocks of the job at this time or later.
  LostFrom lost_since(std::int32_t job, double time_s) const;

 private:
  void apply(std::size_t event_row);

  const std::vector<std::int64_t>&step_, &event_step_;
  const std::vector<double>&start_s_, &event_s_;
  const std::vector<std::int32_t>&pinned_jobs_, &job_;
  const std::vector<std::int8_t>& kind_;
  std::set<std::int32_t> pinned_;
  std::unordered_map<std::int32_t, double> evicted_from_gpu_s_, evicted_from_host_s_;
  std::size_t next_event_ = 0;
};

}  // namespace analysis
