#pragma once
#include <cstdint>

namespace engine {

/// How requests are formed into batches.
enum class Batching : std::uint8_t {
  v1,             // vLLM V1: all running requests, then admissions, in one batch
  mixed,          // vLLM 0.4.2: the same, with blocks allocated ahead
  prefill_first,  // vLLM 0.4.2: admissions alone while there are any, otherwise running requests
  fixed,          // admissions while nothing runs, then none until all of them have ended
};

/// The release of vLLM whose decisions V1 makes.
enum class Version : std::uint8_t { may_2026, v0_26, v0_33 };

struct SchedulerConfig {
  int max_num_batched_tokens = 2048;  // token budget of a step
  int max_num_seqs = 256;             // requests running at once
  int max_model_len = 16384;          // tokens of a sequence, prompt and output
  int long_prefill_token_threshold =
      0;  // most tokens of one prefill chunk; 0: limited by the token budget alone
  bool adaptive_prefill_threshold = false;  // at least the budget's share of each request
  bool chunked_prefill = true;
  bool reserve_full_sequence = true;  // admit only when the whole current sequence fits
  int watermark_blocks = 0;           // blocks that admissions leave free while anything runs
  bool preempt_by_block = false;      // a preempted request is evicted block by block
  Batching batching = Batching::v1;
  Version version = Version::may_2026;

  // vLLM 0.4.2
  int chunk_tokens = 0;  // token budget of steps that may split prompts; 0: max_num_batched_tokens
  bool adaptive_chunking = false;  // split prompts only in steps in which they would take longer
                                   // than the decodes, by steps seen
  // fixed batches
  int buffer_output_tokens = 0;  // output tokens in a sequence's buffer; 0: as many as
                                 // max_model_len allows

  bool is_vllm_042() const {
    return batching == Batching::mixed || batching == Batching::prefill_first;
  }
};

}  // namespace engine
