// A policy's order, admission and pins, with a mirror of the turns that a scheduler of others has.
// The mirror's cache has blocks of one token, since pins only count them, and more of them than the
// scheduler's pool, since pins of shared blocks count for each.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "workers/engine/base/errors.hpp"
#include "workers/engine/scheduler/pins.hpp"
#include "workers/policies/admission/config.hpp"
#include "workers/policies/exported/kvsweep_scheduler.h"
#include "workers/policies/exported/settings.hpp"
#include "workers/policies/factory.hpp"
#include "workers/policies/plugin/library.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::Nanos;
using engine::Request;
using engine::RequestId;
using engine::RequestStatus;

constexpr int kTimesPool = 4;

PolicyConfig with_larger_pool(PolicyConfig policy) {
  if (policy.pins.most_of_pool < 1) policy.pins.most_of_pool /= kTimesPool;
  return policy;
}

/// Lets a plugin decide all that it can, where the settings do not say what.
void use_offers(PolicyConfig& policy) {
  if (policy.plugin.path.empty() || !plugin_axes(policy).empty()) return;
  const PluginLibrary library(policy.plugin.path);
  if (library.offers("order")) policy.order = "plugin";
  if (library.offers("admission")) policy.admission.rule = "plugin";
  if (library.offers("retention")) policy.retention = "plugin";
  if (plugin_axes(policy).empty())
    throw engine::InputError("the plugin offers neither order, admission nor retention (" +
                             policy.plugin.path + ')');
}

PolicyConfig checked(PolicyConfig policy) {
  use_offers(policy);
  if (policy.plugin.path.empty() && !plugin_axes(policy).empty())
    throw engine::InputError("\"plugin\" needs policy.plugin, the file of one");
  constexpr const char* kNeedMore[] = {"longest_prefix", "attained_service", "srpt"};
  if (std::ranges::find(kNeedMore, policy.order) != std::end(kNeedMore))
    throw engine::InputError("order = " + policy.order +
                             " needs the cache or the times of the scheduler's steps, which it "
                             "does not tell");
  if (counts_once(policy.admission.parameters))
    throw engine::InputError(
        "shared_prefixes = once needs the hashes of the scheduler's blocks, "
        "which it does not tell");
  return with_plugin(with_larger_pool(std::move(policy)));
}

}  // namespace
}  // namespace policies

using namespace policies;

/// The handle of the C functions.
struct kvsweep_decider {
  kvsweep_decider(const kvsweep_setup& pool, const char* settings)
      : policy(checked(read_settings(settings, pool))),
        order(make_order(policy)),
        retention(make_retention(policy)),
        kv({.num_blocks = pool.num_blocks * kTimesPool + 1, .block_size = 1}),
        pins(kv, *order, *retention) {}

  void begin_step(Nanos now) {
    pins.expire(now);
    order->begin_step(now, kv.prefix_cache());
  }
  void arrive(const kvsweep_turn& turn, std::uint32_t root) {
    Turn& added = turns[turn.id];
    added.prompt.resize(static_cast<std::size_t>(turn.prompt_tokens));
    Request& request = added.request;
    request.id = RequestId{static_cast<std::uint32_t>(turn.id)};
    const bool stray = turn.number == KVSWEEP_STRAY;
    request.spec.job = JobId{turn.job};
    if (stray || root != turn.job) request.spec.subagent_of = JobId{root};
    request.spec.turn = stray ? 0 : turn.number;
    request.spec.last_turn = turn.last != 0;
    request.spec.tool = engine::ToolId{turn.tool};
    request.spec.priority = turn.priority;
    request.spec.arrival = request.last_seen = Nanos{turn.arrival_ns};
    request.spec.job_arrival = Nanos{turn.job_arrival_ns};
    request.spec.max_tokens = turn.max_output_tokens;
    request.spec.prompt = added.prompt;
    request.spec.computed_by_earlier_turns = request.computed_before = turn.earlier_tokens;
    order->push(request);
    pins.on_arrival(request);
  }
  std::int64_t front() const {
    const Request* next = order->front();
    return next == nullptr ? -1 : std::int64_t{index(next->id)};
  }
  void take(std::uint64_t id) {
    Request& request = request_of(id);
    order->remove(request);
    pins.on_admitted(request);
    running.push_back(request);
    request.status = RequestStatus::running;
  }
  void give_back(const kvsweep_turn& turn, bool preempted) {
    Request& request = updated(turn);
    running.remove(request);
    if (preempted) ++request.num_preemptions;
    request.status =
        request.num_preemptions > 0 ? RequestStatus::preempted : RequestStatus::waiting;
    if (preempted)
      order->push_preempted(request);
    else
      order->put_back(request);
    pins.on_preempted(request);
  }
  void end(const kvsweep_turn& turn, int blocks, bool aborted, Nanos now) {
    Request& request = updated(turn);
    const bool waits = request.waits();
    if (aborted) pins.on_aborted(request);
    if (waits)
      order->remove(request);
    else
      running.remove(request);
    if (!aborted) {
      if (waits) pins.on_ended_waiting(request);
      if (blocks <= kv.num_free()) kv.extend(request, blocks);
      request.status = RequestStatus::finished;
      pins.on_turn_finish(request, now);
    }
    request.status = aborted ? RequestStatus::aborted : RequestStatus::finished;
    order->on_turn_end(request, now);
    turns.erase(turn.id);
  }
  void rank_victims(const kvsweep_turn* given, int count, std::uint64_t* ids) {
    std::vector<Request*> all;
    while (Request* first = running.front()) {
      all.push_back(first);
      running.remove(*first);
    }
    for (int i = 0; i < count; ++i) running.push_back(updated(given[i]));
    for (int i = 0; i < count; ++i) {
      Request& victim = order->choose_victim(running);
      ids[i] = index(victim.id);
      running.remove(victim);
    }
    for (Request* request : all) running.push_back(*request);
  }
  int take_changes(kvsweep_pin_change* out, int capacity) {
    for (const engine::KvEvent& event : pins.events())
      if (event.kind == engine::KvEventKind::pin || event.kind == engine::KvEventKind::unpin)
        changes.push_back(
            {index(event.job), event.kind == engine::KvEventKind::pin ? event.blocks : 0});
    pins.events().clear();
    const auto moved = std::min(changes.size(), static_cast<std::size_t>(capacity));
    std::copy_n(changes.begin(), moved, out);
    changes.erase(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(moved));
    return static_cast<int>(moved);
  }

  struct Turn {
    Request request;
    std::vector<engine::TokenId> prompt;  // only its length counts
  };
  Request& request_of(std::uint64_t id) {
    const auto found = turns.find(id);
    if (found == turns.end())
      throw engine::InputError("the scheduler has no turn " + std::to_string(id));
    return found->second.request;
  }
  /// The turn with the tokens that it has by now.
  Request& updated(const kvsweep_turn& turn) {
    Request& request = request_of(turn.id);
    request.outputs.resize(static_cast<std::size_t>(turn.output_tokens));
    request.num_computed_tokens = turn.computed_tokens;
    return request;
  }

  std::string message;
  PolicyConfig policy;
  std::unique_ptr<engine::QueueOrder> order;
  std::unique_ptr<engine::RetentionPolicy> retention;
  engine::KvCache kv;
  engine::Pins pins;
  engine::RunningList running;
  std::unordered_map<std::uint64_t, Turn> turns;
  std::vector<kvsweep_pin_change> changes;
};

namespace {

/// The result of `act`; `failed` when it throws, with the reason in the decider's message.
template <class Result, class Act>
Result guarded(kvsweep_decider* decider, Result failed, Act&& act) noexcept {
  try {
    return act();
  } catch (const std::exception& error) {
    decider->message = error.what();
  } catch (...) {
    decider->message = "the policy throws what is no std::exception";
  }
  return failed;
}

template <class Act>
std::int32_t done(kvsweep_decider* decider, Act&& act) noexcept {
  return guarded(decider, std::int32_t{-1}, [&]() -> std::int32_t {
    act();
    return 0;
  });
}

}  // namespace

extern "C" {

uint32_t kvsweep_scheduler_version(void) { return KVSWEEP_SCHEDULER_VERSION; }

kvsweep_decider* kvsweep_open(const kvsweep_setup* pool, const char* settings, char* error,
                              int32_t error_size) {
  try {
    return std::make_unique<kvsweep_decider>(*pool, settings).release();
  } catch (const std::exception& problem) {
    std::strncpy(error, problem.what(), static_cast<std::size_t>(error_size) - 1);
    error[error_size - 1] = '\0';
    return nullptr;
  }
}
void kvsweep_close(kvsweep_decider* decider) {
  const std::unique_ptr<kvsweep_decider> owned(decider);
}
const char* kvsweep_message(const kvsweep_decider* decider) { return decider->message.c_str(); }
int32_t kvsweep_preempts_last(const kvsweep_decider* decider) {
  return decider->policy.order == "fcfs" ? 1 : 0;
}

int32_t kvsweep_begin_step(kvsweep_decider* decider, int64_t now_ns) {
  return done(decider, [&] { decider->begin_step(Nanos{now_ns}); });
}
int32_t kvsweep_arrive(kvsweep_decider* decider, const kvsweep_turn* turn, uint32_t root) {
  return done(decider, [&] { decider->arrive(*turn, root); });
}
int64_t kvsweep_front(kvsweep_decider* decider) {
  return guarded(decider, std::int64_t{-2}, [&] { return decider->front(); });
}
int32_t kvsweep_take(kvsweep_decider* decider, uint64_t id) {
  return done(decider, [&] { decider->take(id); });
}
int32_t kvsweep_return(kvsweep_decider* decider, const kvsweep_turn* turn, int32_t preempted) {
  return done(decider, [&] { decider->give_back(*turn, preempted != 0); });
}
int32_t kvsweep_end(kvsweep_decider* decider, const kvsweep_turn* turn, int32_t blocks,
                    int32_t aborted, int64_t now_ns) {
  return done(decider, [&] { decider->end(*turn, blocks, aborted != 0, Nanos{now_ns}); });
}
int32_t kvsweep_victims(kvsweep_decider* decider, const kvsweep_turn* running, int32_t count,
                        uint64_t* ids) {
  return done(decider, [&] { decider->rank_victims(running, count, ids); });
}
int32_t kvsweep_release_pin(kvsweep_decider* decider) {
  return guarded(decider, std::int32_t{-1}, [&]() -> std::int32_t {
    return decider->pins.release_one(engine::KvReason::pressure_admit) ? 1 : 0;
  });
}
int32_t kvsweep_pin_changes(kvsweep_decider* decider, kvsweep_pin_change* changes,
                            int32_t capacity) {
  return guarded(decider, std::int32_t{-1},
                 [&]() -> std::int32_t { return decider->take_changes(changes, capacity); });
}

}  // extern "C"
