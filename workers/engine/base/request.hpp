#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/base/block_hash.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"
#include "workers/engine/base/intrusive_list.hpp"

namespace engine {

/// One LLM call as a client submits it. Spans are borrowed and must outlive the request.
struct RequestSpec {
  JobId job{};
  std::optional<JobId> subagent_of;  // the root of the program that the job is a subagent of
  int turn = 0;
  bool last_turn = false;
  ToolId tool = ToolId::none;  // tool that the recorded answer calls
  int priority = 0;            // smaller is more urgent; read by the priority order alone
  Nanos arrival{0};
  Nanos job_arrival{0};  // arrival of the job's first turn
  int max_tokens = 1;    // ends generation, unless the longest sequence of the model ends it first
  std::span<const TokenId> prompt;
  std::span<const TokenId> forced;  // replayed answer; replaces sampled tokens where given
  std::span<const BlockHash>
      known_hashes;            // over prompt ++ forced, or empty: hashed as tokens become known
  std::optional<TokenId> eos;  // this token ends generation as well
  std::uint64_t salt = 0;      // requests of different salt share no KV
  int computed_by_earlier_turns = 0;  // leading prompt tokens that earlier turns computed
};

enum class RequestStatus : std::uint8_t {
  waiting,
  loading,  // its blocks are the target of a load from the host; in no queue
  loaded,   // waiting, with the loaded KV in its blocks
  running,
  preempted,
  finished,
  aborted
};

/// Breakdown of a turn's time. The parts add up to finish - arrival.
struct TimeSplit {
  Nanos queue{0};       // waiting, preempted, or running but not in the step
  Nanos load_stall{0};  // waiting for a load, or in steps that wait for copies
  Nanos recompute{0};   // prefill of tokens that were computed before and evicted
  Nanos prefill{0};     // prefill of new tokens
  Nanos decode{0};      // steps that generate a token after the first
};

/// State that the host tier keeps for a request; only the tier reads it.
struct TierState {
  void* client = nullptr;       // what the tier knows of the request, and keeps beyond its end
  int cursor = 0;               // blocks or chunks before this one have been considered for storing
  std::vector<HostSlot> found;  // host hits of the last lookup; held against eviction
  bool looked_up = false;       // once at least
};

/// A request inside the engine. `num_computed_tokens` counts tokens with KV in the cache, after
/// schedule() including those that the step computes.
struct Request {
  RequestId id{};
  RequestSpec spec;
  RequestStatus status = RequestStatus::waiting;

  std::vector<TokenId> outputs;
  std::vector<BlockHash> own_hashes;  // empty when spec.known_hashes is given
  std::vector<ContentId> contents;    // of its full blocks, as far as the prefix cache was asked
  std::vector<BlockId> blocks;        // block table: position i holds tokens [i, i+1) * block_size
  int num_computed_tokens = 0;
  int num_hashed_blocks = 0;  // leading blocks of the table that are registered in the prefix cache
  int tokens_in_flight = 0;   // sampled by scheduled steps whose results are not applied yet
  int num_preemptions = 0;

  Nanos admitted{-1};  // first time in the running set; negative until then
  Nanos first_token{-1};
  Nanos last_seen{0};  // end of the last step that computed something for it, or arrival
  TimeSplit time;
  int prefix_hit_tokens = 0;  // prefix hit at the first admission
  int host_hit_tokens = 0;    // host hit beyond it at the first admission
  int disk_hit_tokens = 0;    // of the host hit, what was read from the disk for it
  int recomputed_tokens = 0;
  int computed_before = 0;   // high-water mark of tokens that the job has computed
  int preempted_tokens = 0;  // tokens that were computed when it was last preempted

  std::uint64_t scheduled_in_step = 0;  // last step that scheduled it; steps count from 1
  std::uint64_t in_batch = 0;           // last step that computes for it, empty ones not counted
  bool prefilling = false;              // its last step left known tokens to compute
  std::size_t heap_position = 0;        // owned by the waiting queue
  bool swapped_out = false;             // preempted, with its computed KV in the host tier
  TierState tier;
  Link<Request> running_link;
  Link<Request> loading_link;
  Link<Request> waiting_link;

  int num_prompt() const { return static_cast<int>(spec.prompt.size()); }
  int num_outputs() const { return static_cast<int>(outputs.size()); }
  int num_tokens() const { return num_prompt() + num_outputs(); }
  /// Its tokens once the steps in flight are applied. The last `tokens_in_flight` are not known.
  int expected_tokens() const { return num_tokens() + tokens_in_flight; }
  TokenId token(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return at < spec.prompt.size() ? spec.prompt[at] : outputs[at - spec.prompt.size()];
  }
  /// Hashes of its full blocks, as far as their tokens are known.
  std::span<const BlockHash> block_hashes() const {
    return spec.known_hashes.empty() ? own_hashes : spec.known_hashes;
  }
  const BlockHash& block_hash(int i) const { return block_hashes()[static_cast<std::size_t>(i)]; }
  bool waits() const {
    return status == RequestStatus::waiting || status == RequestStatus::preempted;
  }
  /// Records the prefix hit and the host hit, unless the request has been admitted before.
  void record_hits(int on_gpu, int from_host) {
    if (admitted >= Nanos{0}) return;
    prefix_hit_tokens = on_gpu;
    host_hit_tokens = from_host;
  }
  void record_disk_hit(int tokens) {
    if (admitted < Nanos{0}) disk_hit_tokens = tokens;
  }
  /// True when the one token left to compute is generated output, known or in flight: scheduling it
  /// generates the next one.
  bool decoding() const {
    return num_outputs() + tokens_in_flight > 0 && num_computed_tokens == expected_tokens() - 1;
  }
  bool ended() const {
    return status == RequestStatus::finished || status == RequestStatus::aborted;
  }
};

using RunningList = IntrusiveList<Request, &Request::running_link>;
/// Requests with a load in flight, or waiting with loaded KV; in the order in which loads were
/// issued.
using LoadingList = IntrusiveList<Request, &Request::loading_link>;

/// Extends the request's own hash chain over newly full blocks. Does nothing when the hashes are
/// known in advance.
void hash_full_blocks(Request& request, int block_size);

/// Appends a sampled token. Returns whether it ends the request.
bool append_output(Request& request, TokenId token, int max_model_len, int block_size);

}  // namespace engine
