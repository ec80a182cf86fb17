#include "workers/binding/key_rows.hpp"
#include "workers/policies/names.hpp"

namespace worker {

static const Condition kWhereHostTier =
    is_not("policy.tier", "none") || is_not("policy.preemption", "recompute");
static const Condition kWhereOffload = is("policy.tier", {"offload"});
static const Condition kWhereOlder = is("policy.tier", {"offload"}) &&
                                     is_not("engine.scheduler", "vllm-0.33") &&
                                     is("sim.server", {"none"});
static const Condition kWhereVllm =
    is("policy.tier", {"offload"}) &&
    (is("engine.scheduler", {"vllm-0.33"}) || is_not("sim.server", "none"));
static const Condition kWhereDisk =
    kWhereOffload && is("backend", {"sim"}) && is_not("policy.disk_gib", 0);
static const Condition kWhereLmcache = is("policy.tier", {"lmcache"});

using T = engine::TierConfig;
using Memory = backends::LinkMemory;
using Mode = engine::StoreMode;
template <auto member>
static constexpr auto in_tier = to<&C::engine, &E::tier, member>;
using Disk = backends::DiskRates;
template <auto member>
static constexpr auto in_disk = to<&C::disk, member>;

const std::vector<Key> kTierRows = {
    {"policy.tier", OneOf{{"none", "offload", "lmcache"}}, value("none"), kAlways,
     "Where KV goes beyond the GPU: nowhere, to host memory block by block, or to host memory in "
     "LMCache's chunks."},
    words_for<&C::engine, &E::tier, &T::store_mode>(
        "policy.store", value("eager"), kWhereOlder,
        "Stores every full block (eager), only blocks that are about to be evicted (lazy), "
        "or only blocks that another turn has found (second_turn, HiCache's "
        "write_through_selective).",
        {{"eager", Mode::all}, {"lazy", Mode::lazy}, {"second_turn", Mode::second_turn}}),
    words_for<&C::engine, &E::tier, &T::store_mode>(
        "policy.store", value("prompt"), kWhereVllm,
        "Stores the full blocks of prompts alone, as vLLM does by default, or those with "
        "generated tokens, too.",
        {{"prompt", Mode::prompt}, {"all", Mode::all}}),
    {"policy.tail_store", Flag{}, value(true), kWhereOlder,
     "Also stores what a turn has not stored when it ends.", in_tier<&T::tail_store>},
    {"policy.connector_cost_s", Real{0, 10, "s"}, neutral(0), kWhereOffload,
     "What a step costs the connector on the host, on the virtual clock alone; 0: copies are all "
     "that it costs.",
     in_tier<&T::schedule_overhead>},
    {"policy.host_eviction", OneOf{.names = policies::host_eviction_names}, neutral("lru"),
     is_not("policy.tier", "none"),
     "Which KV leaves the host tier first: what was used least recently (lru), what is used last "
     "by policy.estimator (next_use) or by the true return of each job (oracle), or by recency "
     "and frequency, balanced by what is missed (arc).",
     to<&C::policy, &P::host_eviction>},
    {"policy.chunk_tokens", Whole{1, 1 << 20, "tokens"}, value(256), kWhereLmcache,
     "Tokens of an LMCache chunk, a multiple of engine.block_size.", in_tier<&T::chunk_tokens>},
    {"policy.save_decode", Flag{}, value(false), kWhereLmcache,
     "Also stores KV of generated tokens.", in_tier<&T::save_decode>},
    {"policy.schedule_cost_s", Real{0, 10, "s"}, value(0.001), kWhereLmcache,
     "What a step costs the connector for looking up, on the virtual clock alone.",
     in_tier<&T::schedule_overhead>},
    {"policy.save_cost_s", Real{0, 10, "s"}, value(0.004), kWhereLmcache,
     "What a step that stores costs the connector beyond that, on the virtual clock alone.",
     in_tier<&T::save_overhead>},
    {"policy.preemption", OneOf{{"recompute", "swap", "partial", "adaptive"}}, neutral("recompute"),
     kAlways,
     "What happens to a preempted request's KV: recomputed, swapped to host memory, swapped "
     "block by block as needed, or recomputed or swapped, whichever is faster."},
    {"policy.swap_partially", Flag{}, value(false), is_not("policy.preemption", "recompute"),
     "If host memory has no room for all blocks of a request, swaps those that fit.",
     in_tier<&T::swap_partially>},
    {"dram_gib", Real{0, 1e6, "GiB"}, required(), kWhereHostTier,
     "Host memory of the tier; an axis of it collapses to one cell for policies without a tier."},
    {"engine.host_kv_tokens", Whole{1, kMostOf32Bits, "tokens"}, optional("dram_gib says it"),
     kWhereHostTier, "Host memory of the tier by the KV that it holds, in place of dram_gib."},
    words_for<&C::host_memory>(
        "policy.host_memory", value("pinned"), kWhereHostTier,
        "Whether the tier's host memory is page-locked; copies from pageable memory are "
        "slower.",
        {{"pinned", Memory::pinned}, {"pageable", Memory::pageable}}),
    {"policy.duplex", Flag{}, neutral(true), kWhereHostTier,
     "Whether stores and loads share the host link at once, each at full speed, or take turns; "
     "true on cuda.",
     to<&C::link, &backends::LinkModel::duplex>},
    {"policy.disk_gib", Real{0, 1e6, "GiB"}, neutral(0), kWhereOffload,
     "Disk behind host memory: takes what leaves it, keeps what was used last, and is read back "
     "before a load; modelled on sim alone."},
    {"sim.disk_read_gb_s", Real{1e-3, 1e3, "GB/s"}, neutral(6.8), kWhereDisk,
     "Bandwidth of reads from the disk; the default is that of a Micron 7450, a datacenter drive "
     "of PCIe 4, as reported at its launch.",
     in_disk<&Disk::read_gb_s>},
    {"sim.disk_write_gb_s", Real{1e-3, 1e3, "GB/s"}, neutral(5.6), kWhereDisk,
     "Bandwidth of writes to the disk, beside its reads; the default is that of the largest drives "
     "of the same series.",
     in_disk<&Disk::write_gb_s>},
    {"sim.disk_latency_us", Real{0, 1e6, "us"}, neutral(100), kWhereDisk,
     "Time of one block on the disk beyond its bytes; the default is about a random read of flash.",
     in_disk<&Disk::latency_us>},
    {"sim.disk_queue", Whole{1, 1 << 16, "blocks"}, neutral(32), kWhereDisk,
     "Blocks that the disk serves at once in each direction.", in_disk<&Disk::queue>},
};

}  // namespace worker
