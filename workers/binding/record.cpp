#include "workers/binding/parts.hpp"

namespace worker {
namespace {

constexpr const char* kSwitch = "record.access_log";

backends::IndexRanges bind_ranges(ParamBinder& in, const std::string& key) {
  const std::string text = in.text(key);
  try {
    return backends::IndexRanges::parse(text);
  } catch (const engine::InputError& error) {
    in.fail(key, error.what());
  }
}

void check_exist(const ParamBinder& in, const std::string& key, const backends::IndexRanges& chosen,
                 int count, const std::string& of) {
  if (chosen.last() >= count)
    in.fail(key, "names number " + std::to_string(chosen.last()) + ", the model has " +
                     std::to_string(count) + ' ' + of + " (from 0)");
}

}  // namespace

void bind_access_log(ParamBinder& in) {
  ExperimentConfig& config = in.config;
  const bool on = in.boolean(kSwitch);
  backends::AccessLogOptions options;
  options.layers = bind_ranges(in, "record.access_layers");
  options.heads = bind_ranges(in, "record.access_heads");
  options.steps = bind_ranges(in, "record.access_steps");
  options.max_records = in.integer("record.access_max_records");
  options.fence_writes = in.boolean("record.access_fence_writes");
  if (!on) return;
  if (config.backend == "sim")
    in.fail(kSwitch, "needs backend \"cpu\" or \"cuda\": a cost model accesses nothing");
  if (config.engine.kv.block_size > kernels::kMostLoggedSlots)
    in.fail(kSwitch, "needs an engine.block_size of at most " +
                         std::to_string(kernels::kMostLoggedSlots) + ", which is " +
                         std::to_string(config.engine.kv.block_size));
  check_exist(in, "record.access_layers", options.layers, config.model.layers, "layers");
  check_exist(in, "record.access_heads", options.heads, config.model.kv_heads, "key heads");
  config.access_log = options;
}

}  // namespace worker
