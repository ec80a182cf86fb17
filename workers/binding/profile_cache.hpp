#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "workers/cell/transformer.hpp"
#include "workers/profiles/profiles.hpp"

namespace worker {

/// The profiles of a folder, each read when it is first asked for and then kept: a plan has
/// thousands of cells and a handful of profiles. The functions throw what load_* throws, and again
/// whenever they are asked. For one thread at a time.
class Profiles {
 public:
  explicit Profiles(std::filesystem::path dir) : dir_(std::move(dir)) {}
  const std::filesystem::path& dir() const { return dir_; }
  const backends::GpuProfile& gpu(const std::string& name);
  const model::ModelConfig& model_config(const std::string& name);
  const model::ModelShape& model(const std::string& name) { return model_config(name).shape; }
  const sweep::ParamMap& policy(const std::string& name);
  /// Replaces the constants of a server in the profile of a card.
  void set_server(const std::string& gpu, const std::string& name, backends::MeasuredFit fit);
  /// Identifies the values of a checkpoint, which is read whole for that. Throws
  /// engine::InputError.
  const std::string& weights_digest(const Transformer& transformer);

 private:
  std::filesystem::path dir_;
  std::map<std::string, backends::GpuProfile> gpus_;
  std::map<std::string, model::ModelConfig> models_;
  std::map<std::string, sweep::ParamMap> policies_;
  std::map<std::string, std::string> digests_;  // by checkpoint and model
};

}  // namespace worker
