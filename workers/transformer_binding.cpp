#include "workers/binding_parts.hpp"
#include "workers/model/same_model.hpp"

namespace worker {
namespace {

const std::vector<std::string> kTypes = {"float32", "bfloat16", "float16"};
/// Keys of any real model, and of one on a GPU.
const std::vector<std::string> kOfModels = {"weights.checkpoint", "weights.seed", "engine.dtype",
                                            "engine.debug"};
const std::vector<std::string> kOfGpus = {"engine.gpu_memory_utilization",
                                          "engine.prefill_attention"};

model::DType type_named(const std::string& name) {
  if (name == "float32") return model::DType::f32;
  return name == "bfloat16" ? model::DType::bf16 : model::DType::f16;
}

/// Type of weights and KV. Kernels on a GPU compute in the model's own.
model::DType bind_dtype(ParamBinder& in, const std::string& backend, model::DType of_model) {
  const model::DType usual = backend == "cpu" ? model::DType::f32 : of_model;
  const model::DType type = type_named(in.choice("engine.dtype", model::to_text(usual), kTypes));
  if (backend == "cuda" && type != of_model)
    in.fail("engine.dtype", "must be the model's " + model::to_text(of_model) + " on a GPU");
  return type;
}

/// Random weights, or a checkpoint.
void bind_weights(ParamBinder& in, Transformer& transformer) {
  transformer.checkpoint = in.folder("weights.checkpoint");
  if (!transformer.checkpoint.empty() && in.has("weights.seed"))
    in.fail("weights.seed", "makes random weights and has no effect beside weights.checkpoint");
  transformer.seed = in.integer("weights.seed", 1, 0, INT64_MAX);
  if (!transformer.checkpoint.empty()) in.forget({"weights.seed"});
}

/// What counts is what the weights are, not where they lie.
void record_weights(ParamBinder& in, const Transformer& transformer, Profiles& profiles) {
  if (transformer.checkpoint.empty()) return;
  try {
    model::require_configuration(transformer.checkpoint, transformer.config);
    in.record("weights.digest", profiles.weights_digest(transformer));
  } catch (const engine::InputError& error) {
    in.fail("weights.checkpoint", error.what());
  }
}

void bind_gpu_choices(ParamBinder& in, Transformer& transformer) {
  transformer.memory_utilization = in.number("engine.gpu_memory_utilization", 0.9, 0.01, 1);
  transformer.contiguous_prefill =
      in.choice("engine.prefill_attention", "paged", {"paged", "contiguous"}) == "contiguous";
}

}  // namespace

std::vector<std::string> keys_without_effect(const std::string& backend) {
  if (backend == "cuda") return {};
  std::vector<std::string> keys = kOfGpus;
  if (backend == "sim") keys.insert(keys.begin(), kOfModels.begin(), kOfModels.end());
  return keys;
}

std::optional<Transformer> bind_transformer(ParamBinder& in, const std::string& backend,
                                            const model::ModelConfig& model, Profiles& profiles) {
  Transformer transformer;
  transformer.config = model;
  transformer.dtype = bind_dtype(in, backend, model.dtype);
  transformer.checks = in.boolean("engine.debug", false);
  bind_weights(in, transformer);
  bind_gpu_choices(in, transformer);
  in.forget(keys_without_effect(backend));
  if (backend == "sim") return std::nullopt;
  record_weights(in, transformer, profiles);
  return transformer;
}

}  // namespace worker
