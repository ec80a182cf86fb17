// Continuum's fork of vLLM, which pins KV by what it reads from requests and answers.
#include <algorithm>

#include "workers/binding/server.hpp"

namespace worker {
namespace {

bool has_policy(const std::vector<std::string>& command) {
  const std::string flag = "--scheduling-policy", policy = "continuum";
  for (std::size_t i = 0; i < command.size(); ++i)
    if (command[i] == flag + '=' + policy ||
        (command[i] == flag && i + 1 < command.size() && command[i + 1] == policy))
      return true;
  return false;
}

/// Recorded texts as tokens of a vocabulary: an answer holds the block that names its tool.
bool has_recorded_texts(const WorkloadConfig& workload) {
  const auto* recorded = std::get_if<RecordedTrajectories>(&workload.content);
  return recorded != nullptr && !recorded->tokenizer_path.empty();
}

}  // namespace

void require_visible_tools(const ParamBinder& in, const ExperimentConfig& config) {
  const server::ServerConfig& server = *config.server;
  if (server.kind != server::Kind::vllm || !has_policy(server.command)) return;
  for (const char* field : {"job_id", "is_last_step"})
    if (!server.request.contains(field))
      in.fail("server.command", "starts Continuum's fork, which fails every request without " +
                                    std::string(field) +
                                    ": give server.request job_id = \"{job.id}\" and "
                                    "is_last_step = \"{turn.last}\"");
  if (server.chain == server::Chain::forced && has_recorded_texts(config.workload)) return;
  throw Infeasible(
      "Continuum's fork reads a turn's tool from the bash block of the answer that it generates, "
      "and no answer here holds one, so that nothing would be pinned: this needs server.chain "
      "\"forced\" and workload.kind \"trajectories\" with the model's workload.tokenizer");
}

}  // namespace worker
