#include "workers/binding/profile_cache.hpp"

namespace worker {
namespace {

template <class Profile>
const Profile& kept(std::map<std::string, Profile>& known, const std::filesystem::path& dir,
                    const std::string& name,
                    Profile (*load)(const std::filesystem::path&, const std::string&)) {
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known.emplace(name, load(dir, name)).first->second;
}

}  // namespace

const backends::GpuProfile& Profiles::gpu(const std::string& name) {
  return kept(gpus_, dir_, name, load_gpu_profile);
}

void Profiles::set_server(const std::string& name, const std::string& server,
                          backends::MeasuredFit fit) {
  gpu(name);
  gpus_.at(name).servers[server] = std::move(fit);
}

const model::ModelConfig& Profiles::model_config(const std::string& name) {
  return kept(models_, dir_, name, load_model_config);
}

const sweep::ParamMap& Profiles::policy(const std::string& name) {
  return kept(policies_, dir_, name, load_policy_profile);
}

const std::string& Profiles::weights_digest(const Transformer& transformer) {
  std::string& digest = digests_[weights_key(transformer)];
  if (digest.empty()) digest = open_weights(transformer)->digest();
  return digest;
}

}  // namespace worker
