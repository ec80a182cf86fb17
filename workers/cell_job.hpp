#pragma once
#include <memory>
#include <optional>
#include <string>

#include "sweeps/expectation.hpp"
#include "sweeps/shard.hpp"
#include "workers/execution.hpp"
#include "workers/protocol.hpp"
#include "workers/worker_loop.hpp"

namespace worker {

/// A cell on its way to a worker: all that its result and its row in the archive need.
struct CellJob {
  sweep::CellRecord record;  // as planned
  sweep::ParamMap params;
  std::string profiles;                           // folder of the profiles
  std::string mark_path;                          // of the note that the cell has started
  std::vector<sweep::Expectation> expected = {};  // of the result
};

std::string encode_job(const CellJob& job);
/// Throws ProtocolError when the text is no job.
CellJob decode_job(const std::string& text);

/// Runs the jobs that it is given and returns the bytes of their shards.
/// Binds the cell again: a worker that sees other files than the driver fails the cell, and so does
/// a result that does not show what is expected of it.
/// While a cell runs, a fatal signal leaves a word in the cell's mark.
RunCell make_cell_runner(const Hello& self, int rank,
                         std::shared_ptr<Executor> executor = std::make_shared<Executor>());

/// Puts the model of this job into the executor's memory before any cell comes; all ranks of the
/// group do so at the same time.
void load_model_of(const std::string& job, Executor& executor,
                   const std::optional<backends::NcclGroup>& group);

/// The shard of a cell that is over without a result.
std::string failed_shard(sweep::CellRecord record, int attempts, sweep::CellStatus kind,
                         const std::string& reason);

}  // namespace worker
