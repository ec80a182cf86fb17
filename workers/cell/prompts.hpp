#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Whether the backend reads tokens. A simulation needs only how many there are.
enum class TokenUse : std::uint8_t { read, counted };

/// Tokens and block hashes of turns. A workload that holds its tokens is hashed at construction;
/// prompts made on demand exist from begin() until end() of their turn, and the hashes of a turn
/// until the job's next turn, which extends them. No hashes outlive the end() of a job's last turn.
/// Where tokens made on demand are only counted, all turns share placeholders of the right length.
class Prompts {
 public:
  Prompts(const workload::Workload& workload, int block_size, TokenUse use);

  /// Sets prompt, answer and hashes of a turn. One turn of a job at a time.
  void begin(std::uint32_t job, int turn, engine::RequestSpec& spec);
  void end(std::uint32_t job, int turn);

 private:
  struct Made {
    std::vector<engine::TokenId> tokens;
    std::vector<engine::BlockHash> hashes;
  };
  void make(std::uint32_t job, int turn, Made& made);
  void hash(std::uint32_t job, int turn, Made& made) const;
  void release(std::vector<engine::TokenId>& tokens);

  const workload::Workload& workload_;
  std::size_t block_size_;
  std::vector<Made> made_;                            // by job
  std::vector<std::vector<engine::TokenId>> unused_;  // buffers of ended turns, a few
  std::vector<engine::TokenId> placeholders_;         // as many as the longest turn has
};

}  // namespace worker
