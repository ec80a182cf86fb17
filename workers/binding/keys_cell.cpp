#include "workers/backends/sim/cost_model.hpp"
#include "workers/binding/key_rows.hpp"

namespace worker {

static const Condition kOnSimulatedTier =
    is("backend", {"sim"}) &&
    (is_not("policy.tier", "none") || is_not("policy.preemption", "recompute"));
static const Condition kWhereLogged = is("record.access_log", {true});

using Log = backends::AccessLogOptions;

const std::vector<Key> kCellRows = {
    {"gpu", ProfileIn{"gpus"}, required(), kAlways,
     "The SKU that the cell is about: exact GPU model, memory size and form factor."},
    {"model", ProfileIn{"models"}, value("llama-3.1-8b"), kAlways, "The model that is served."},
    {"weights.checkpoint", FolderPath{}, optional("random weights"), is_not("backend", "sim"),
     "Hugging Face folder whose config.json and tensors are those of the model; its weights "
     "count, not its path."},
    {"weights.seed", Whole{0, kMostOf64Bits}, value(1),
     is_not("backend", "sim") && is_unset("weights.checkpoint"), "Seed of random weights.",
     to<&C::transformer, &Transformer::seed>},
    {"sim.cost_model", OneOf{.names = backends::cost_model_names},
     computed("measured where the card has constants for the model, else kernels"),
     is("backend", {"sim"}),
     "Where step times come from: bytes and FLOP of the kernels on the card, or constants that "
     "were published or measured for the card and model."},
    {"sim.server", AnyText{}, neutral("none"), is("backend", {"sim"}),
     "A server whose steps the cost model measured follows in place of this engine's, and whose "
     "connector policy.tier offload is: its name in the card's profile, as vllm 0.26."},
    words_for<&C::link, &backends::LinkModel::infinite>(
        "sim.link", neutral("card"), kOnSimulatedTier,
        "Bandwidth of the host link: that of the card's profile, or infinite, so that copies "
        "take no time.",
        {{"card", false}, {"infinite", true}}),
    {"sim.block_copy_us", Real{0, 1e6, "us"}, neutral(0), kOnSimulatedTier,
     "Time that each copied block takes beyond its bytes over the link.",
     to<&C::link, &backends::LinkModel::block_us>},
    {"sim.fixed_scale", Real{0.1, 10}, neutral(1), is("backend", {"sim"}),
     "Factor on the constants of a step's time that do not grow with its tokens: intercepts and "
     "launches."},
    {"sim.token_scale", Real{0.1, 10}, neutral(1), is("backend", {"sim"}),
     "Factor on the constants that grow with tokens, KV read and bytes of weights."},
    {"sim.tier_scale", Real{0.1, 10}, neutral(1), kOnSimulatedTier,
     "Factor on the time of copies over the host link and on policy.schedule_cost_s and "
     "policy.save_cost_s."},
    {"record.access_log", Flag{}, neutral(false), kAlways,
     "Records every access of attention to the KV cache (docs/results.md); needs backend cpu "
     "or cuda.",
     [](C& config, const Value& value) {
       if (std::get<bool>(value)) config.access_log.emplace();
     }},
    {"record.access_layers", AnyText{}, value("0"), kWhereLogged,
     "Layers whose accesses are recorded, as \"0,4-7\" or \"all\".",
     to<&C::access_log, &Log::layers>},
    {"record.access_heads", AnyText{}, value("all"), kWhereLogged,
     "KV heads whose accesses are recorded, in the same form.", to<&C::access_log, &Log::heads>},
    {"record.access_steps", AnyText{}, value("all"), kWhereLogged,
     "Engine steps whose accesses are recorded, in the same form.",
     to<&C::access_log, &Log::steps>},
    {"record.access_max_records", Whole{1, std::int64_t{1} << 40, "records"}, value(20000000),
     kWhereLogged, "Logging stops before the step that would exceed this number of records.",
     to<&C::access_log, &Log::max_records>},
};

}  // namespace worker
