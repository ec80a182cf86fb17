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
  const backends::GpuProfile& gpu(const std::string& name) {
    return kept(gpus_, name, load_gpu_profile);
  }
  const model::ModelConfig& model_config(const std::string& name) {
    return kept(models_, name, load_model_config);
  }
  const model::ModelShape& model(const std::string& name) { return model_config(name).shape; }
  const sweep::ParamMap& policy(const std::string& name) {
    return kept(policies_, name, load_policy_profile);
  }
  /// Replaces the constants of a server in the profile of a card.
  void set_server(const std::string& name, const std::string& server, backends::MeasuredFit fit) {
    gpu(name);
    gpus_.at(name).servers[server] = std::move(fit);
  }
  /// Identifies the values of a checkpoint, which is read whole for that. Throws
  /// engine::InputError.
  const std::string& weights_digest(const Transformer& transformer) {
    std::string& digest = digests_[weights_key(transformer)];
    if (digest.empty()) digest = open_weights(transformer)->digest();
    return digest;
  }

 private:
  template <class Profile>
  const Profile& kept(std::map<std::string, Profile>& known, const std::string& name,
                      Profile (*load)(const std::filesystem::path&, const std::string&)) {
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    return known.emplace(name, load(dir_, name)).first->second;
  }

  std::filesystem::path dir_;
  std::map<std::string, backends::GpuProfile> gpus_;
  std::map<std::string, model::ModelConfig> models_;
  std::map<std::string, sweep::ParamMap> policies_;
  std::map<std::string, std::string> digests_;  // by checkpoint and model
};

}  // namespace worker
