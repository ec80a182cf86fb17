#include "workers/binding/key_groups.hpp"

namespace worker {
namespace {

constexpr const char* kSwitch = "record.access_log";

void check_exist(const ParamBinder& in, const std::string& key, const backends::IndexRanges& chosen,
                 int count, const std::string& of) {
  if (chosen.last() >= count)
    in.fail(key, "names number " + std::to_string(chosen.last()) + ", the model has " +
                     std::to_string(count) + ' ' + of + " (from 0)");
}

}  // namespace

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
