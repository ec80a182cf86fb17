#include "workers/policies/plugin/calls.hpp"

namespace policies {

kvsweep_turn described(const engine::Request& request, bool pinned) {
  const engine::RequestSpec& spec = request.spec;
  return {.id = engine::index(request.id),
          .arrival_ns = spec.arrival.count(),
          .job_arrival_ns = spec.job_arrival.count(),
          .job = static_cast<std::uint32_t>(engine::index(spec.job)),
          .number = spec.turn,
          .last = spec.last_turn,
          .tool = static_cast<std::int32_t>(spec.tool),
          .priority = spec.priority,
          .prompt_tokens = request.num_prompt(),
          .earlier_tokens = spec.computed_by_earlier_turns,
          .output_tokens = request.num_outputs(),
          .max_output_tokens = spec.max_tokens,
          .computed_tokens = request.num_computed_tokens,
          .preemptions = request.num_preemptions,
          .pinned = pinned};
}

}  // namespace policies
