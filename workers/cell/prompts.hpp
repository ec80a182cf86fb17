#pragma once
#include <span>
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Tokens and block hashes of turns. A workload that holds its tokens is hashed at construction;
/// prompts made on demand exist from begin() until end() of their turn, and the hashes of a turn
/// until the job's next turn, which extends them.
class Prompts {
 public:
  Prompts(const workload::Workload& workload, int block_size);

  /// Sets prompt, answer and hashes of a turn. One turn of a job at a time.
  void begin(std::uint32_t job, int turn, engine::RequestSpec& spec);
  void end(std::uint32_t job, int turn);

 private:
  struct Made {
    std::vector<engine::TokenId> tokens;
    std::vector<engine::BlockHash> hashes;
  };
  void make(std::uint32_t job, int turn, Made& made);

  const workload::Workload& workload_;
  std::size_t block_size_;
  std::vector<Made> made_;                            // by job
  std::vector<std::vector<engine::TokenId>> unused_;  // buffers of ended turns
};

}  // namespace worker
