#include "workers/policies/plugin/plugin.hpp"

#include <algorithm>

#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/policies/plugin/factory.hpp"

namespace policies {
namespace {

std::string seconds_text(engine::Nanos time) {
  return sweep::formatted("%g s", engine::to_seconds(time));
}

}  // namespace

Plugin::Plugin(const PluginConfig& config)
    : library_(config.path), use_(config.use), time_limit_(config.time_limit) {
  kvsweep_setup setup{config.num_blocks, config.block_size, {}};
  std::ranges::copy(config.values, setup.values);
  state_ = library_.create(setup);
}

Plugin::~Plugin() { library_.destroy(state_); }

void Plugin::count(const char* name, engine::Nanos begun) {
  const engine::Nanos took = clock_.now() - begun;
  if (use_ != nullptr) {
    ++use_->calls;
    use_->time += took;
  }
  if (time_limit_ == engine::Nanos{0} || took <= time_limit_) return;
  throw engine::InputError("policy.plugin took " + seconds_text(took) + " for one call of " + name +
                           "; policy.plugin_time_limit_s allows " + seconds_text(time_limit_));
}

void Plugin::arrived(const engine::Request& turn) {
  if (index(turn.id) < arrivals_known_) return;
  arrivals_known_ = std::uint64_t{index(turn.id)} + 1;
  if (table().on_arrival == nullptr) return;
  const kvsweep_turn told = described(turn);
  ask("on_arrival", table().on_arrival, &told);
}

void Plugin::ended(const engine::Request& turn, engine::Nanos now) {
  if (table().on_turn_end == nullptr) return;
  if (index(turn.id) >= ends_known_.size()) ends_known_.resize(index(turn.id) + 1);
  if (ends_known_[index(turn.id)]) return;
  ends_known_[index(turn.id)] = true;
  const kvsweep_turn told = described(turn);
  ask("on_turn_end", table().on_turn_end, &told, now.count());
}

std::shared_ptr<Plugin> load_plugin(const PluginConfig& config) {
  return std::make_shared<Plugin>(config);
}

void reject_answer(const std::string& what) { throw engine::InputError("policy.plugin " + what); }

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
