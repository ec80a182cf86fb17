#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workers/engine/block_hash.hpp"
#include "workers/engine/clock.hpp"
#include "workers/engine/ids.hpp"
#include "workers/engine/intrusive_list.hpp"

namespace engine {

/// When generation ends. Checked after every sampled token, in the order of check_stop().
struct StopRule {
  int max_tokens = 1;
  int min_tokens = 0;
  bool ignore_eos = true;
  TokenId eos = 0;
  std::span<const TokenId> stop_tokens;  // borrowed
};

/// One LLM call as a client submits it. Spans are borrowed and must outlive the request.
struct RequestSpec {
  JobId job{};
  int turn = 0;
  bool last_turn = false;
  ToolId tool = ToolId::none;  // tool that the recorded answer calls
  int priority = 0;            // smaller is more urgent; read by the priority order alone
  Nanos arrival{0};
  Nanos job_arrival{0};  // arrival of the job's first turn
  StopRule stop;
  std::span<const TokenId> prompt;
  std::span<const TokenId> forced;  // replayed answer; replaces sampled tokens where given
  std::span<const BlockHash>
      known_hashes;        // over prompt ++ forced, or empty: hashed as tokens become known
  std::uint64_t salt = 0;  // requests of different salt share no KV
  int computed_by_earlier_turns = 0;  // leading prompt tokens whose KV the job has computed before
};

enum class RequestStatus : std::uint8_t {
  waiting,
  loading,  // holds blocks that KV from the host is being copied into; in no queue
  loaded,   // waits with that KV in its blocks
  running,
  preempted,
  finished,
  aborted
};
enum class FinishReason : std::uint8_t { none, stop, length, abort, error };

/// Where the time of a turn went. The parts add up to finish - arrival.
struct TimeSplit {
  Nanos queue{0};       // waiting, preempted, or running without a share of the step
  Nanos load_stall{0};  // waiting for its KV from the host, or in steps that wait for copies
  Nanos recompute{0};   // prefill of tokens whose KV had been computed before and was lost
  Nanos prefill{0};     // prefill of new tokens
  Nanos decode{0};      // steps that generate a token after the first
};

/// What the host tier remembers of a request; only the tier reads it.
struct TierState {
  int cursor = 0;               // what lies before has been looked at for storing
  std::vector<HostSlot> found;  // by the last lookup; kept from eviction
  std::uint64_t load = 0;       // load under way; 0: none
};

/// A request inside the engine. `num_computed` counts tokens whose KV is in the cache or, after
/// schedule(), will be.
struct Request {
  RequestId id{};
  RequestSpec spec;
  RequestStatus status = RequestStatus::waiting;
  FinishReason finish = FinishReason::none;

  std::vector<TokenId> outputs;
  std::vector<BlockHash> own_hashes;  // empty when spec.known_hashes is given
  std::vector<BlockId> blocks;        // block table: position i holds tokens [i, i+1) * block_size
  int num_computed = 0;
  int num_hashed_blocks = 0;  // leading blocks of the table that are registered in the prefix cache
  int num_preemptions = 0;

  Nanos admitted{-1};  // first time in the running set; negative until then
  Nanos first_token{-1};
  Nanos last_seen{0};  // end of the last step that computed something for it, or arrival
  TimeSplit time;
  int prefix_hit_tokens = 0;  // found on the GPU at the first admission
  int host_hit_tokens = 0;    // beyond these loaded from the host for the first admission
  int recomputed_tokens = 0;
  int computed_before = 0;   // high-water mark of tokens whose KV the job has computed
  int preempted_tokens = 0;  // tokens whose KV it had when it was last preempted

  std::uint64_t scheduled_in_step = 0;  // last step that scheduled it; steps count from 1
  std::size_t heap_position = 0;        // owned by the waiting queue
  bool swapped_out = false;             // preempted, and the host tier keeps what it had computed
  bool no_more_loads = false;  // gave loaded KV up: it computes before it waits for a load again
  TierState tier;
  Link<Request> running_link;
  Link<Request> loading_link;
  Link<Request> waiting_link;

  int num_prompt() const { return static_cast<int>(spec.prompt.size()); }
  int num_outputs() const { return static_cast<int>(outputs.size()); }
  int num_tokens() const { return num_prompt() + num_outputs(); }
  TokenId token(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return at < spec.prompt.size() ? spec.prompt[at] : outputs[at - spec.prompt.size()];
  }
  const BlockHash& block_hash(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return spec.known_hashes.empty() ? own_hashes[at] : spec.known_hashes[at];
  }
  bool waits() const {
    return status == RequestStatus::waiting || status == RequestStatus::preempted;
  }
  /// Generates its next token when scheduled for the one token that is not computed yet.
  bool decoding() const { return !outputs.empty() && num_computed == num_tokens() - 1; }
};

using RunningList = IntrusiveList<Request, &Request::running_link>;
/// Requests whose KV is being loaded, or that wait with loaded KV; in the order of their loads.
using LoadingList = IntrusiveList<Request, &Request::loading_link>;

/// Decides after the last token of `outputs` whether generation ends. The order is the field's:
/// minimum length first, then end of sequence, stop tokens, length.
FinishReason check_stop(const Request& request, int max_model_len);

/// Extends the request's own hash chain over blocks that have become full; known hashes need none.
void hash_full_blocks(Request& request, int block_size);

/// Appends sampled tokens one at a time until one of them ends the request; the rest is dropped.
FinishReason append_outputs(Request& request, std::span<const TokenId> sampled, int max_model_len,
                            int block_size);

}  // namespace engine
