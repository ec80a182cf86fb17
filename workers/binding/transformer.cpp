#include "workers/binding/key_groups.hpp"
#include "workers/model/config.hpp"

namespace worker {
namespace {

/// Type of weights and KV. Kernels on a GPU compute in the model's own type.
model::DType bind_dtype(ParamBinder& in, model::DType of_model) {
  const bool on_gpu = in.config.backend == "cuda";
  const model::DType usual = in.config.backend == "cpu" ? model::DType::f32 : of_model;
  const model::DType type = model::dtype_named(in.text("engine.dtype", model::to_text(usual)));
  if (on_gpu && type != of_model)
    in.fail("engine.dtype", "must be the model's " + model::to_text(of_model) + " on a GPU");
  return type;
}

std::string bind_checkpoint(ParamBinder& in) {
  std::string checkpoint = in.folder("weights.checkpoint");
  if (!checkpoint.empty() && in.has("weights.seed"))
    in.fail("weights.seed", "makes random weights and has no effect beside weights.checkpoint");
  return checkpoint;
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

constexpr const char* kSwitch = "record.access_log";

void check_exist(const ParamBinder& in, const std::string& key, const backends::IndexRanges& chosen,
                 int count, const std::string& of) {
  if (chosen.last() >= count)
    in.fail(key, "names number " + std::to_string(chosen.last()) + ", the model has " +
                     std::to_string(count) + ' ' + of + " (from 0)");
}

}  // namespace

void bind_kv_dtype(ParamBinder& in, model::ModelShape& shape) {
  shape.fp8_kv = in.text("engine.kv_dtype") == "fp8_e4m3";
}

void bind_transformer(ParamBinder& in, const model::ModelConfig& model, Profiles& profiles) {
  Transformer transformer;
  transformer.config = model;
  transformer.dtype = bind_dtype(in, model.dtype);
  transformer.checkpoint = bind_checkpoint(in);
  if (in.config.backend == "sim") return;
  record_weights(in, transformer, profiles);
  in.config.transformer = std::move(transformer);
}

void check_access_log(const ParamBinder& in) {
  const ExperimentConfig& config = in.config;
  if (!config.access_log) return;
  if (config.backend == "sim")
    in.fail(kSwitch, "needs backend \"cpu\" or \"cuda\": a cost model accesses nothing");
  if (config.engine.kv.block_size > kernels::kMostLoggedSlots)
    in.fail(kSwitch, "needs an engine.block_size of at most " +
                         std::to_string(kernels::kMostLoggedSlots) + ", which is " +
                         std::to_string(config.engine.kv.block_size));
  const backends::AccessLogOptions& log = *config.access_log;
  check_exist(in, "record.access_layers", log.layers, config.model.layers, "layers");
  check_exist(in, "record.access_heads", log.heads, config.model.kv_heads, "key heads");
}

}  // namespace worker
