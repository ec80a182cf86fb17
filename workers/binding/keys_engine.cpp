#include "workers/binding/key_rows.hpp"

namespace worker {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

std::vector<KeyRow> rows_of_scheduler() {
  return {
      {.name = "engine.scheduler",
       .type = OneOf{{"v1", "vllm-0.33", "prefill_first", "mixed", "chunked"}},
       .fallback = value("v1"),
       .neutral = "v1",
       .says = "vLLM's V1 scheduler as it was in May 2026 (v1) or is in 0.33, or one of vLLM "
               "0.4.2: prefills before decodes, whole prompts mixed with decodes, or prompts in "
               "chunks (docs/scheduling.md)."},
      {.name = "engine.async_scheduling",
       .type = Flag{},
       .fallback = value("false"),
       .neutral = "false",
       .says = "Schedules a step while the one before it runs, without its tokens, as vLLM does by "
               "default (docs/scheduling.md)."},
      {.name = "engine.max_num_batched_tokens",
       .type = Whole{1, kMostOf32Bits},
       .fallback = value("2048"),
       .unit = "tokens",
       .says = "Token budget of a step, as in vLLM."},
      {.name = "engine.max_num_seqs",
       .type = Whole{1, 1 << 20},
       .fallback = value("256"),
       .unit = "requests",
       .says = "Most requests that run at once, as in vLLM."},
      {.name = "engine.max_model_len",
       .type = Whole{2, kMostOf32Bits},
       .fallback = computed("the least of 16384, the model's context and, for schedulers other "
                            "than v1 and vllm-0.33, the token budget"),
       .unit = "tokens",
       .says = "Longest sequence that is accepted, prompt and output together, as in vLLM."},
      {.name = "engine.long_prefill_token_threshold",
       .type = Whole{0, kMostOf32Bits},
       .fallback = value("0"),
       .unit = "tokens",
       .says = "Most tokens that one prefill gets in a step, as in vLLM; 0: the budget alone "
               "limits it."},
      {.name = "engine.long_prefill_token_threshold_adaptive",
       .type = Flag{},
       .fallback = value("false"),
       .where = "engine.scheduler = vllm-0.33",
       .says = "Whether that is at least the token budget divided by the requests that run or "
               "wait, as in vLLM."},
  };
}

std::vector<KeyRow> rows_of_prefill() {
  return {
      {.name = "engine.chunked_prefill",
       .type = Flag{},
       .fallback = value("true"),
       .where = "engine.scheduler = v1|vllm-0.33",
       .says = "Whether a prompt may be computed over several steps."},
      {.name = "engine.reserve_full_sequence",
       .type = Flag{},
       .fallback = value("true"),
       .where = "engine.scheduler = v1|vllm-0.33",
       .says = "Admits a request only when blocks for its whole current sequence are free, and "
               "not just for its first chunk."},
      {.name = "engine.chunking",
       .type = OneOf{{"off", "fixed", "adaptive"}},
       .fallback = computed("fixed where engine.chunk_tokens is above 0, otherwise off"),
       .where = "engine.scheduler = chunked",
       .says = "Splits prompts never, always, or only in steps that they would make more than "
               "twice as long."},
      {.name = "engine.chunk_tokens",
       .type = Whole{0, kMostOf32Bits},
       .fallback = computed("512, or engine.max_num_batched_tokens if that is less"),
       .unit = "tokens",
       .where = "engine.scheduler = chunked; engine.chunking != off",
       .says = "Token budget of steps that may split prompts, at most "
               "engine.max_num_batched_tokens; 0 leaves prompts whole."},
      {.name = "engine.prefix_caching",
       .type = Flag{},
       .fallback =
           computed("true for engine.scheduler v1 or vllm-0.33 with policy.layout paged, otherwise "
                    "false"),
       .says = "Whether requests share the blocks of common prefixes, as in vLLM."},
      {.name = "engine.watermark_tokens",
       .type = Whole{0, kMostTokens},
       .fallback = value("0"),
       .unit = "tokens",
       .where = "engine.scheduler = v1",
       .neutral = "0",
       .says = "KV that admissions leave free of the pool while anything runs."},
      {.name = "engine.watermark",
       .type = Real{0, 1},
       .fallback = value("0"),
       .where = "engine.scheduler = vllm-0.33",
       .says = "Share of the pool, in whole blocks, that admissions leave free while anything "
               "runs, as in vLLM."},
      {.name = "engine.watermark_tokens",
       .type = Whole{0, kMostTokens},
       .fallback = computed("one block in a hundred of the pool"),
       .unit = "tokens",
       .where = "engine.scheduler = prefill_first|mixed|chunked",
       .says = "KV that admissions leave free of the pool while anything runs."},
  };
}

std::vector<KeyRow> rows_of_pool() {
  return {
      {.name = "engine.block_size",
       .type = Whole{1, 1024},
       .fallback = value("16"),
       .unit = "tokens",
       .says = "Tokens of a KV block, as in vLLM."},
      {.name = "engine.emulate",
       .type = ProfileIn{"gpus"},
       .fallback = optional("the card's own pool"),
       .says = "Another SKU whose KV pool the engine is limited to; cells are named with it."},
      {.name = "engine.kv_tokens",
       .type = Whole{0, kMostTokens},
       .fallback = computed("the pool of the card, or of engine.emulate"),
       .unit = "tokens",
       .where = "backend = sim or engine.emulate set",
       .says = "Size of the KV pool, in whole blocks."},
      {.name = "engine.kv_tokens",
       .type = Whole{0, kMostTokens},
       .fallback = required(),
       .unit = "tokens",
       .where = "backend = cpu; engine.emulate unset",
       .says = "Size of the KV pool, in whole blocks."},
      {.name = "engine.kv_tokens",
       .type = Whole{0, kMostTokens},
       .fallback = optional("what the GPU's memory has room for"),
       .unit = "tokens",
       .where = "backend = cuda; engine.emulate unset",
       .says = "Size of the KV pool, in whole blocks."},
      {.name = "engine.kv_tokens",
       .type = Whole{0, kMostTokens},
       .fallback = required(),
       .unit = "tokens",
       .where = "backend = server; server.match = true; engine.emulate unset",
       .says = "Size of the KV pool that the server is given, in whole blocks."},
      {.name = "engine.gpu_memory_utilization",
       .type = Real{0.01, 1},
       .fallback = value("0.9"),
       .where = "backend = cuda; engine.kv_tokens unset; engine.emulate unset",
       .says = "Share of the GPU's memory that weights, activations and KV pool may fill, as in "
               "vLLM."},
  };
}

std::vector<KeyRow> rows_of_forward() {
  return {
      {.name = "engine.dtype",
       .type = OneOf{{"float32", "bfloat16", "float16"}},
       .fallback = computed("float32 on cpu, the model's on cuda"),
       .where = "backend != sim",
       .says = "Type of weights and KV; on cuda the model's own and no other."},
      {.name = "engine.debug",
       .type = Flag{},
       .fallback = value("false"),
       .where = "backend != sim",
       .says = "Keeps checksums of blocks, poisons fresh blocks and makes a NaN an error that "
               "names step and layer."},
      {.name = "engine.prefill_attention",
       .type = OneOf{{"paged", "contiguous"}},
       .fallback = value("paged"),
       .where = "backend = cuda",
       .says = "Attention of a prefill reads K and V from KV blocks, or for whole prompts where "
               "the projection wrote them."},
  };
}

}  // namespace

std::vector<KeyRow> rows_of_engine() {
  std::vector<KeyRow> rows = rows_of_scheduler();
  for (const auto more : {rows_of_prefill, rows_of_pool, rows_of_forward})
    for (KeyRow& row : more()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace worker
