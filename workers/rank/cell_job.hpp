#pragma once
#include <memory>
#include <optional>
#include <string>

#include "sweeps/archive/shard.hpp"
#include "workers/cell/execution.hpp"
#include "workers/rank/protocol.hpp"
#include "workers/rank/worker_loop.hpp"

namespace worker {

/// A cell sent to a worker: all that its result and its row in the archive need.
struct CellJob {
  sweep::CellRecord record;  // as planned
  sweep::ParamMap params;
  std::string profiles;                                // folder of the profiles
  std::string mark_path;                               // path of the note that the cell has started
  sweep::RecordLevel level = sweep::RecordLevel::all;  // of what is stored
};

std::string encode_jobs(const std::vector<CellJob>& jobs);
/// Throws ProtocolError when the text is not at least one job.
std::vector<CellJob> decode_jobs(const std::string& text);

/// Runs the jobs of a text, one after another, and returns the bytes of their shard. Binds the cell
/// again: the cell fails when the worker sees other files than the driver. While a cell runs, a
/// fatal signal is recorded in its mark, which the cells of a text share.
RunCell make_cell_runner(const Hello& self, int rank,
                         std::shared_ptr<Executor> executor = std::make_shared<Executor>());

/// The shard of a cell that ended without a result.
std::string failed_shard(sweep::CellRecord record, int attempts, sweep::CellStatus kind,
                         const std::string& reason);

}  // namespace worker
