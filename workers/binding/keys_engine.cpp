#include "workers/binding/key_rows.hpp"

namespace worker {

static constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

using S = engine::SchedulerConfig;
template <auto member>
static constexpr auto in_scheduler = to<&C::engine, &E::scheduler, member>;

const std::vector<Key> kEngineRows = {
    {"engine.scheduler", OneOf{{"v1", "vllm-0.33", "prefill_first", "mixed", "chunked"}},
     neutral("v1"), kAlways,
     "vLLM's V1 scheduler as it was in May 2026 (v1) or is in 0.33, or one of vLLM 0.4.2: "
     "prefills before decodes, whole prompts mixed with decodes, or prompts in chunks "
     "(docs/engine.md)."},
    {"engine.async_scheduling", Flag{}, neutral(false), kAlways,
     "Schedules a step while the one before it runs, without its tokens, as vLLM does by default "
     "(docs/engine.md).",
     to<&C::engine, &E::async_scheduling>},
    {"engine.max_num_batched_tokens", Whole{1, kMostOf32Bits, "tokens"}, value(2048), kAlways,
     "Token budget of a step, as in vLLM.", in_scheduler<&S::max_num_batched_tokens>},
    {"engine.max_num_seqs", Whole{1, 1 << 20, "requests"}, value(256), kAlways,
     "Most requests that run at once, as in vLLM.", in_scheduler<&S::max_num_seqs>},
    {"engine.max_model_len", Whole{2, kMostOf32Bits, "tokens"},
     computed("the least of 16384, the model's context and, for schedulers other than v1 and "
              "vllm-0.33, the token budget"),
     kAlways, "Longest sequence that is accepted, prompt and output together, as in vLLM.",
     in_scheduler<&S::max_model_len>},
    {"engine.long_prefill_token_threshold", Whole{0, kMostOf32Bits, "tokens"}, value(0), kAlways,
     "Most tokens that one prefill gets in a step, as in vLLM; 0: the budget alone limits it.",
     in_scheduler<&S::long_prefill_token_threshold>},
    {"engine.long_prefill_token_threshold_adaptive", Flag{}, value(false),
     is("engine.scheduler", {"vllm-0.33"}),
     "Whether that is at least the token budget divided by the requests that run or wait, as in "
     "vLLM.",
     in_scheduler<&S::adaptive_prefill_threshold>},
    {"engine.chunked_prefill", Flag{}, value(true), is("engine.scheduler", {"v1", "vllm-0.33"}),
     "Whether a prompt may be computed over several steps.", in_scheduler<&S::chunked_prefill>},
    {"engine.reserve_full_sequence", Flag{}, value(true),
     is("engine.scheduler", {"v1", "vllm-0.33"}),
     "Admits a request only when blocks for its whole current sequence are free, and not just "
     "for its first chunk.",
     in_scheduler<&S::reserve_full_sequence>},
    {"engine.chunking", OneOf{{"off", "fixed", "adaptive"}},
     computed("fixed where engine.chunk_tokens is above 0, otherwise off"),
     is("engine.scheduler", {"chunked"}),
     "Splits prompts never, always, or only in steps that they would make more than twice as "
     "long."},
    {"engine.chunk_tokens", Whole{0, kMostOf32Bits, "tokens"},
     computed("512, or engine.max_num_batched_tokens if that is less"),
     is("engine.scheduler", {"chunked"}) && is_not("engine.chunking", "off"),
     "Token budget of steps that may split prompts, at most engine.max_num_batched_tokens; 0 "
     "leaves prompts whole."},
    {"engine.prefix_caching", Flag{},
     computed(
         "true for engine.scheduler v1 or vllm-0.33 with policy.layout paged, otherwise false"),
     kAlways, "Whether requests share the blocks of common prefixes, as in vLLM."},
    {"engine.watermark_tokens", Whole{0, kMostTokens, "tokens"}, neutral(0),
     is("engine.scheduler", {"v1"}),
     "KV that admissions leave free of the pool while anything runs."},
    {"engine.watermark", Real{0, 1}, value(0), is("engine.scheduler", {"vllm-0.33"}),
     "Share of the pool, in whole blocks, that admissions leave free while anything runs, as in "
     "vLLM."},
    {"engine.watermark_tokens", Whole{0, kMostTokens, "tokens"},
     computed("one block in a hundred of the pool"),
     is("engine.scheduler", {"prefill_first", "mixed", "chunked"}),
     "KV that admissions leave free of the pool while anything runs."},
    {"engine.block_size", Whole{1, 1024, "tokens"}, value(16), kAlways,
     "Tokens of a KV block, as in vLLM.", to<&C::engine, &E::kv, &engine::KvConfig::block_size>},
    {"engine.emulate", ProfileIn{"gpus"}, optional("the card's own pool"), kAlways,
     "Another SKU whose KV pool the engine is limited to; cells are named with it."},
    {"engine.kv_tokens", Whole{0, kMostTokens, "tokens"},
     computed("the pool of the card, or of engine.emulate"),
     is("backend", {"sim"}) || is_set("engine.emulate"), "Size of the KV pool, in whole blocks."},
    {"engine.kv_tokens", Whole{0, kMostTokens, "tokens"}, required(),
     is("backend", {"cpu"}) && is_unset("engine.emulate"), "Size of the KV pool, in whole blocks."},
    {"engine.kv_tokens", Whole{0, kMostTokens, "tokens"},
     optional("what the GPU's memory has room for"),
     is("backend", {"cuda"}) && is_unset("engine.emulate"),
     "Size of the KV pool, in whole blocks."},
    {"engine.kv_tokens", Whole{0, kMostTokens, "tokens"}, required(),
     is("backend", {"server"}) && is("server.match", {true}) && is_unset("engine.emulate"),
     "Size of the KV pool that the server is given, in whole blocks."},
    {"engine.gpu_memory_utilization", Real{0.01, 1}, value(0.9),
     is("backend", {"cuda"}) && is_unset("engine.kv_tokens") && is_unset("engine.emulate"),
     "Share of the GPU's memory that weights, activations and KV pool may fill, as in vLLM.",
     to<&C::transformer, &Transformer::memory_utilization>},
    {"engine.dtype", OneOf{{model::kDTypeNames.begin(), model::kDTypeNames.end()}},
     computed("float32 on cpu, the model's on cuda"), is_not("backend", "sim"),
     "Type of weights and KV; on cuda the model's own and no other."},
    {"engine.kv_dtype", OneOf{{"bf16", "fp8_e4m3"}}, neutral("bf16"), kAlways,
     "Type of KV in pool, host tier and disk: bf16, which is that of the weights, or fp8_e4m3, one "
     "byte a number, with scale 1.0 for K and V as vLLM's --kv-cache-dtype fp8. For it "
     "sim.cost_model scales what kernels and measured take for reads of KV by the bytes; published "
     "steps knew none."},
    {"engine.debug", Flag{}, value(false), is_not("backend", "sim"),
     "Keeps checksums of copied blocks, poisons fresh blocks and makes a NaN an error that names "
     "step and layer.",
     to<&C::transformer, &Transformer::checks>},
    words_for<&C::transformer, &Transformer::contiguous_prefill>(
        "engine.prefill_attention", value("paged"), is("backend", {"cuda"}),
        "Attention of a prefill reads K and V from KV blocks, or for whole prompts where the "
        "projection wrote them.",
        {{"paged", false}, {"contiguous", true}}),
};

}  // namespace worker
