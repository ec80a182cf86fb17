#pragma once
#include <memory>
#include <optional>
#include <span>

#include "workers/engine/scheduler/state.hpp"

namespace engine {

/// Tokens whose blocks a request needs at its admission, besides those of its first step.
struct Needs {
  int must_fit = 0;     // that must fit, although they are not allocated
  int allocated = 0;    // that are allocated at once
  int free_blocks = 0;  // that must be left behind the first step
};

/// Blocks of sequences that ended before the rest of their batch.
struct EndedSequences {
  std::span<const BlockId> blocks;
  int unwritten_slots = 0;  // token slots in them that hold no KV
};

/// Decides which requests a step computes, as vLLM's V1 scheduler does.
///
/// Running requests come first. The rest of the token budget goes to the waiting queue, strictly
/// from its head. A request with a host hit allocates blocks, waits in `loading` until the KV is
/// copied, and returns to the queue as `loaded`. It keeps its blocks there unless nothing could run
/// otherwise.
class V1Batching {
 public:
  explicit V1Batching(SchedulerState& state) : state_(state) {}
  virtual ~V1Batching() = default;

  /// Fills the step, and allocates all blocks that it needs.
  virtual void fill(Step& step);

  // Further duties of older schedulers.
  virtual void on_computed(const StepPlan&, Nanos /*took*/) {}
  /// The request has ended; its blocks are about to be released.
  virtual void on_finish(Request&) {}
  virtual EndedSequences ended() const { return {}; }

 protected:
  // The two phases of a step.
  void schedule_running(Step& step);
  void admit_waiting(Step& step);

  bool admit_head(Step& step) { return admit_next(*state_.order.front(), step); }
  static int wanted(const Request& request, int first_token, const Step& step);
  /// Tokens of the request's current sequence and `more`, and the watermark while anything runs.
  int whole_sequence(const Request& request, int more = 0) const;

  SchedulerState& state_;

 private:
  virtual Needs needs_of(const Request& request) const;
  /// Allocates blocks for the next tokens of a running request. False when too few are free.
  virtual bool try_grow(Request& request, int num_tokens);

  static bool ends_in_flight(const Request& request);
  bool grow(Request& request, int num_tokens, Step& step, Request*& after);
  static int chunk(const Request& request, int first_token, const Step& step);
  int watermark() const;
  int promised_blocks() const;
  bool admit_next(Request& request, Step& step);
  bool blocks_come_free() const;
  bool admit_holders(Step& step);
  StopReason pass_over(Request& request, Step& step);
  StopReason try_admit(Request& request, Step& step);
  StopReason start_load(Request& request, std::span<const BlockId> hits, int tokens, Nanos now);
  void admit(Request& request, Step& step, int num_tokens);
  StopReason refusal(const Request& request, const Admission& admission);
  bool still_blocked(const Request& request, const Step& step) const;

  std::vector<std::pair<Request*, RequestId>> deferred_;  // in the last step
  // The last refusal for lack of room, so that a blocked head is not looked up again in every step.
  std::optional<RequestId> blocked_;
  std::uint64_t blocked_until_ = 0;  // KvCache::num_changes()
};

// Older schedulers: they take the two phases in another order, and reserve blocks by other rules.
std::unique_ptr<V1Batching> make_vllm_042_batching(SchedulerState& state);
std::unique_ptr<V1Batching> make_fixed_batching(SchedulerState& state);

}  // namespace engine
