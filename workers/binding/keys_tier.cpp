#include "workers/binding/key_rows.hpp"
#include "workers/policies/names.hpp"

namespace worker {
namespace {

constexpr const char* kWhereHostTier = "policy.tier != none or policy.preemption != recompute";
constexpr const char* kWhereOffload = "policy.tier = offload";
constexpr const char* kWhereOlder =
    "policy.tier = offload; engine.scheduler != vllm-0.33; sim.server = none";
constexpr const char* kWhereVllm =
    "policy.tier = offload; engine.scheduler = vllm-0.33 or sim.server != none";
constexpr const char* kWhereLmcache = "policy.tier = lmcache";

std::vector<KeyRow> rows_of_host_memory() {
  return {
      {.name = "dram_gib",
       .type = Real{0, 1e6},
       .fallback = required(),
       .unit = "GiB",
       .where = kWhereHostTier,
       .says = "Host memory of the tier; an axis of it collapses to one cell for policies "
               "without a tier."},
      {.name = "engine.host_kv_tokens",
       .type = Whole{1, kMostOf32Bits},
       .fallback = optional("dram_gib says it"),
       .unit = "tokens",
       .where = kWhereHostTier,
       .says = "Host memory of the tier by the KV that it holds, in place of dram_gib."},
      {.name = "policy.host_memory",
       .type = OneOf{{"pinned", "pageable"}},
       .fallback = value("pinned"),
       .where = kWhereHostTier,
       .says = "Whether the tier's host memory is page-locked; copies from pageable memory are "
               "slower."},
      {.name = "policy.duplex",
       .type = Flag{},
       .fallback = value("true"),
       .where = kWhereHostTier,
       .neutral = "true",
       .says = "Whether stores and loads share the host link at once, each at full speed, or "
               "take turns; true on cuda."},
  };
}

std::vector<KeyRow> rows_of_tiers() {
  return {
      {.name = "policy.tier",
       .type = OneOf{{"none", "offload", "lmcache"}},
       .fallback = value("none"),
       .says = "Where KV goes beyond the GPU: nowhere, to host memory block by block, or to "
               "host memory in LMCache's chunks."},
      {.name = "policy.store",
       .type = OneOf{{"eager", "lazy", "second_turn"}},
       .fallback = value("eager"),
       .where = kWhereOlder,
       .says = "Stores every full block (eager), only blocks that are about to be evicted (lazy), "
               "or only blocks that another turn has found (second_turn, HiCache's "
               "write_through_selective)."},
      {.name = "policy.store",
       .type = OneOf{{"prompt", "all"}},
       .fallback = value("prompt"),
       .where = kWhereVllm,
       .says = "Stores the full blocks of prompts alone, as vLLM does by default, or those with "
               "generated tokens, too."},
      {.name = "policy.tail_store",
       .type = Flag{},
       .fallback = value("true"),
       .where = kWhereOlder,
       .says = "Also stores what a turn has not stored when it ends."},
      {.name = "policy.connector_cost_s",
       .type = Real{0, 10},
       .fallback = value("0"),
       .unit = "s",
       .where = kWhereOffload,
       .neutral = "0",
       .says = "What a step costs the connector on the host, on the virtual clock alone; 0: copies "
               "are all that it costs."},
      {.name = "policy.host_eviction",
       .type = OneOf{policies::host_eviction_names()},
       .fallback = value("lru"),
       .where = "policy.tier != none",
       .neutral = "lru",
       .says = "Which KV leaves the host tier first: what was used least recently (lru), what is "
               "used last by policy.estimator (next_use) or by the true return of each job "
               "(oracle), or by recency and frequency, balanced by what is missed (arc)."},
      {.name = "policy.chunk_tokens",
       .type = Whole{1, 1 << 20},
       .fallback = value("256"),
       .unit = "tokens",
       .where = kWhereLmcache,
       .says = "Tokens of an LMCache chunk, a multiple of engine.block_size."},
      {.name = "policy.save_decode",
       .type = Flag{},
       .fallback = value("false"),
       .where = kWhereLmcache,
       .says = "Also saves KV of generated tokens."},
      {.name = "policy.schedule_cost_s",
       .type = Real{0, 10},
       .fallback = value("0.001"),
       .unit = "s",
       .where = kWhereLmcache,
       .says = "What a step costs the connector for looking up, on the virtual clock alone."},
      {.name = "policy.save_cost_s",
       .type = Real{0, 10},
       .fallback = value("0.004"),
       .unit = "s",
       .where = kWhereLmcache,
       .says = "What a step that saves costs the connector beyond that, on the virtual clock "
               "alone."},
      {.name = "policy.preemption",
       .type = OneOf{{"recompute", "swap", "partial", "adaptive"}},
       .fallback = value("recompute"),
       .neutral = "recompute",
       .says = "What happens to a preempted request's KV: recomputed, swapped to host memory, "
               "swapped block by block as needed, or recomputed or swapped, whichever is faster."},
      {.name = "policy.swap_partially",
       .type = Flag{},
       .fallback = value("false"),
       .where = "policy.preemption != recompute",
       .says = "If host memory has no room for all blocks of a request, swaps those that fit."},
  };
}

}  // namespace

std::vector<KeyRow> rows_of_tier() {
  std::vector<KeyRow> rows = rows_of_tiers();
  for (KeyRow& row : rows_of_host_memory()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace worker
