#include <algorithm>

#include "workers/binding/key_groups.hpp"

namespace worker {
namespace {

using engine::Batching;
using engine::SchedulerConfig;

/// The schedulers of vLLM 0.4.2: prompts are whole, but for "chunked", which splits them by a
/// budget of its own.
void bind_vllm_042(ParamBinder& in, SchedulerConfig& s, const std::string& name) {
  s.batching = name == "prefill_first" ? Batching::prefill_first : Batching::mixed;
  s.chunked_prefill = name == "chunked";
  for (const char* key : {"engine.chunked_prefill", "engine.reserve_full_sequence"})
    if (in.has(key)) in.fail(key, "is decided by engine.scheduler \"" + name + '"');
}

/// A chunk of 0 tokens, or chunking "off", leaves prompts whole.
void bind_chunks(ParamBinder& in, SchedulerConfig& s, const std::string& name) {
  const bool chunked = name == "chunked";
  // The default is that of vLLM 0.4.2.
  s.chunk_tokens =
      in.small("engine.chunk_tokens", chunked ? std::min(512, s.max_num_batched_tokens) : 0);
  if (s.chunk_tokens > s.max_num_batched_tokens)
    in.fail("engine.chunk_tokens", "must be at most engine.max_num_batched_tokens (" +
                                       std::to_string(s.max_num_batched_tokens) + ")");
  const std::string chunking =
      in.text("engine.chunking", chunked && s.chunk_tokens > 0 ? "fixed" : "off");
  if (!chunked && s.chunk_tokens > 0)
    in.fail("engine.chunk_tokens", "needs engine.scheduler \"chunked\"");
  if (chunking != "off" && (!chunked || s.chunk_tokens == 0))
    in.fail("engine.chunking", "needs engine.scheduler \"chunked\" and engine.chunk_tokens");
  s.adaptive_chunking = chunking == "adaptive";
  if (chunked) s.chunked_prefill = chunking != "off";
  if (chunking == "off") s.chunk_tokens = 0;
}

/// Fixed batches in contiguous buffers, whatever the scheduler.
void bind_layout(ParamBinder& in, SchedulerConfig& s, const std::string& scheduler) {
  if (in.text("policy.layout") != "contiguous") {
    if (in.has("policy.max_new_tokens"))
      in.fail("policy.max_new_tokens", "needs policy.layout \"contiguous\"");
    return;
  }
  if (scheduler != "v1")
    in.fail("engine.scheduler", "must be \"v1\" with policy.layout \"contiguous\"");
  s.batching = Batching::fixed;
  s.chunked_prefill = false;
}

void check_limits(const ParamBinder& in, const SchedulerConfig& s, const model::ModelShape& shape) {
  if (s.max_model_len > shape.max_context) {
    in.fail("engine.max_model_len", "must be at most the " + std::to_string(shape.max_context) +
                                        " tokens of " + shape.name);
  }
  if (s.max_num_batched_tokens < s.max_num_seqs) {
    in.fail("engine.max_num_batched_tokens",
            "must be at least engine.max_num_seqs (" + std::to_string(s.max_num_seqs) + ")");
  }
  if (!s.chunked_prefill && s.max_num_batched_tokens < s.max_model_len) {
    in.fail("engine.max_num_batched_tokens", "must be at least engine.max_model_len (" +
                                                 std::to_string(s.max_model_len) +
                                                 ") without chunked prefill");
  }
}

}  // namespace

void bind_scheduler(ParamBinder& in) {
  SchedulerConfig& s = in.config.engine.scheduler;
  const model::ModelShape& shape = in.config.model;
  const std::string name = in.text("engine.scheduler");
  const bool v1 = name == "v1" || name == "vllm-0.33";
  if (name == "vllm-0.33") s.version = engine::Version::v0_33;
  in.integer("engine.max_num_batched_tokens");
  int longest = std::min(s.max_model_len, shape.max_context);
  // Without chunked prefill a prompt must fit into one step's token budget.
  if (!v1) longest = std::min(longest, s.max_num_batched_tokens);
  in.integer("engine.max_model_len", longest);
  for (const char* key : {"engine.max_num_seqs", "engine.long_prefill_token_threshold"})
    in.integer(key);
  for (const char* key : {"engine.chunked_prefill", "engine.reserve_full_sequence"})
    if (v1) in.boolean(key);
  if (!v1) bind_vllm_042(in, s, name);
  bind_chunks(in, s, name);
  bind_layout(in, s, name);
  check_limits(in, s, shape);
}

void bind_prefix_caching(ParamBinder& in) {
  const Batching batching = in.config.engine.scheduler.batching;
  const bool possible = batching == Batching::v1;
  bool& on = in.config.engine.kv.prefix_caching;
  on = in.boolean("engine.prefix_caching", possible);
  if (on && !possible)
    in.fail("engine.prefix_caching", batching == Batching::fixed
                                         ? "must be false with policy.layout \"contiguous\""
                                         : "must be false with the schedulers of vLLM 0.4.2");
}

void bind_watermark(ParamBinder& in) {
  engine::EngineConfig& engine = in.config.engine;
  const double share = in.number("engine.watermark");
  if (engine.scheduler.version == engine::Version::v0_33) {
    engine.scheduler.watermark_blocks = static_cast<int>(share * engine.kv.num_blocks);
    return;
  }
  const std::int64_t block = engine.kv.block_size;
  const std::int64_t blocks = engine.kv.num_blocks - 1;
  // One block in a hundred, as vLLM 0.4.2 rounds it.
  const std::int64_t usual = engine.scheduler.is_vllm_042() ? blocks / 100 * block : 0;
  const std::int64_t tokens = in.integer("engine.watermark_tokens", usual);
  if (tokens > blocks * block)
    in.fail("engine.watermark_tokens",
            "must be at most the pool of " + std::to_string(blocks * block) + " tokens");
  engine.scheduler.watermark_blocks = static_cast<int>((tokens + block - 1) / block);
}

}  // namespace worker
