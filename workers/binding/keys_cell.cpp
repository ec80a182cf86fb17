#include "workers/backends/sim/cost_model.hpp"
#include "workers/binding/key_rows.hpp"
#include "workers/model/weights.hpp"

namespace worker {
namespace {

constexpr const char* kOnSimulatedTier =
    "backend = sim; policy.tier != none or policy.preemption != recompute";
constexpr const char* kWhereLogged = "record.access_log = true";

std::vector<KeyRow> rows_of_hardware() {
  return {
      {.name = "gpu",
       .type = ProfileIn{"gpus"},
       .says = "The SKU that the cell is about: exact GPU model, memory size and form factor."},
      {.name = "model",
       .type = ProfileIn{"models"},
       .fallback = value("llama-3.1-8b"),
       .says = "The model that is served."},
      {.name = "weights.checkpoint",
       .type = FolderPath{},
       .fallback = optional("random weights"),
       .where = "backend != sim",
       .says = "Hugging Face folder whose config.json and tensors are those of the model; its "
               "weights count, not its path."},
      {.name = "weights.seed",
       .type = Whole{0, kMostOf64Bits},
       .fallback = value("1"),
       .where = "backend != sim; weights.checkpoint unset",
       .says = "Seed of random weights."},
      {.name = "weights.distribution",
       .type = OneOf{model::distribution_names()},
       .fallback = value("uniform"),
       .where = "backend != sim; weights.checkpoint unset",
       .neutral = "uniform",
       .says = "Distribution of random weights; heavy_tailed: one in 64 is eight times as wide."},
      {.name = "sim.cost_model",
       .type = OneOf{backends::cost_model_names()},
       .fallback = computed("measured where the card has constants for the model, else kernels"),
       .where = "backend = sim",
       .says = "Where step times come from: bytes and FLOP of the kernels on the card, or "
               "constants that were published or measured for the card and model."},
      {.name = "sim.server",
       .type = AnyText{},
       .fallback = value("none"),
       .where = "backend = sim",
       .neutral = "none",
       .says =
           "A server whose steps the cost model measured follows in place of this engine's, and "
           "whose connector policy.tier offload is: its name in the card's profile, as vllm "
           "0.26."},
      {.name = "sim.link",
       .type = OneOf{{"card", "infinite"}},
       .fallback = value("card"),
       .where = kOnSimulatedTier,
       .neutral = "card",
       .says = "Bandwidth of the host link: that of the card's profile, or infinite, so that "
               "copies take no time."},
      {.name = "sim.block_copy_us",
       .type = Real{0, 1e6},
       .fallback = value("0"),
       .unit = "us",
       .where = kOnSimulatedTier,
       .neutral = "0",
       .says = "Time that each copied block takes beyond its bytes over the link."},
      {.name = "sim.fixed_scale",
       .type = Real{0.1, 10},
       .fallback = value("1"),
       .where = "backend = sim",
       .neutral = "1",
       .says = "Factor on the constants of a step's time that do not grow with its tokens: "
               "intercepts and launches."},
      {.name = "sim.token_scale",
       .type = Real{0.1, 10},
       .fallback = value("1"),
       .where = "backend = sim",
       .neutral = "1",
       .says = "Factor on the constants that grow with tokens, KV read and bytes of weights."},
      {.name = "sim.tier_scale",
       .type = Real{0.1, 10},
       .fallback = value("1"),
       .where = kOnSimulatedTier,
       .neutral = "1",
       .says = "Factor on the time of copies over the host link and on policy.schedule_cost_s and "
               "policy.save_cost_s."},
  };
}

std::vector<KeyRow> rows_of_records() {
  return {
      {.name = "record.access_log",
       .type = Flag{},
       .fallback = value("false"),
       .neutral = "false",
       .says = "Records every access of attention to the KV cache (docs/access-log.md); needs "
               "backend cpu or cuda."},
      {.name = "record.access_layers",
       .type = AnyText{},
       .fallback = value("0"),
       .where = kWhereLogged,
       .says = "Layers whose accesses are recorded, as \"0,4-7\" or \"all\"."},
      {.name = "record.access_heads",
       .type = AnyText{},
       .fallback = value("all"),
       .where = kWhereLogged,
       .says = "KV heads whose accesses are recorded, in the same form."},
      {.name = "record.access_steps",
       .type = AnyText{},
       .fallback = value("all"),
       .where = kWhereLogged,
       .says = "Engine steps whose accesses are recorded, in the same form."},
      {.name = "record.access_max_records",
       .type = Whole{1, std::int64_t{1} << 40},
       .fallback = value("20000000"),
       .unit = "records",
       .where = kWhereLogged,
       .says = "Logging stops before the step that would exceed this number of records."},
      {.name = "record.access_fence_writes",
       .type = Flag{},
       .fallback = value("false"),
       .where = kWhereLogged,
       .says = "Times a memory fence behind each write, so that durations of writes include "
               "reaching memory; it slows what is measured."},
  };
}

}  // namespace

std::vector<KeyRow> rows_of_cell() {
  std::vector<KeyRow> rows = rows_of_hardware();
  for (KeyRow& row : rows_of_records()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace worker
