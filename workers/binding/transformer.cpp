#include "workers/binding/parts.hpp"
#include "workers/model/same_model.hpp"

namespace worker {
namespace {

model::DType type_named(const std::string& name) {
  if (name == "float32") return model::DType::f32;
  return name == "bfloat16" ? model::DType::bf16 : model::DType::f16;
}

/// Type of weights and KV. Kernels on a GPU compute in the model's own type.
model::DType bind_dtype(ParamBinder& in, const std::string& backend, model::DType of_model) {
  const model::DType usual = backend == "cpu" ? model::DType::f32 : of_model;
  const model::DType type = type_named(in.text("engine.dtype", model::to_text(usual)));
  if (backend == "cuda" && type != of_model)
    in.fail("engine.dtype", "must be the model's " + model::to_text(of_model) + " on a GPU");
  return type;
}

/// Random weights, or a checkpoint.
void bind_weights(ParamBinder& in, Transformer& transformer) {
  transformer.checkpoint = in.folder("weights.checkpoint");
  if (!transformer.checkpoint.empty() && in.has("weights.seed"))
    in.fail("weights.seed", "makes random weights and has no effect beside weights.checkpoint");
  if (!transformer.checkpoint.empty() && in.has("weights.distribution"))
    in.fail("weights.distribution",
            "is that of random weights and has no effect beside weights.checkpoint");
  transformer.seed = in.integer("weights.seed");
  transformer.distribution = model::distribution_named(in.text("weights.distribution"));
}

/// A checkpoint enters the identity of a cell by a digest of its weights, not by its path.
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
  transformer.memory_utilization = in.number("engine.gpu_memory_utilization");
  transformer.contiguous_prefill = in.text("engine.prefill_attention") == "contiguous";
}

}  // namespace

std::optional<Transformer> bind_transformer(ParamBinder& in, const std::string& backend,
                                            const model::ModelConfig& model, Profiles& profiles) {
  Transformer transformer;
  transformer.config = model;
  transformer.dtype = bind_dtype(in, backend, model.dtype);
  transformer.checks = in.boolean("engine.debug");
  bind_weights(in, transformer);
  bind_gpu_choices(in, transformer);
  if (backend == "sim") return std::nullopt;
  record_weights(in, transformer, profiles);
  return transformer;
}

}  // namespace worker
