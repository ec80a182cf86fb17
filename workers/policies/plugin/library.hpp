#pragma once
#include <memory>
#include <string>

#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

/// A shared object with the table of kvsweep_policy.h, loaded while this lives.
class PluginLibrary {
 public:
  /// Throws engine::InputError, which says what was found, when the file cannot be loaded, has no
  /// table or one of another version, or when the table lacks a function that it must have.
  explicit PluginLibrary(const std::string& path);

  /// Throw engine::InputError when the plugin does not offer them.
  const kvsweep_order& order() const;
  const kvsweep_eviction& eviction() const;

 private:
  struct Close {
    void operator()(void* handle) const noexcept;
  };
  std::string path_;
  std::unique_ptr<void, Close> handle_;
  const kvsweep_policy* table_ = nullptr;
};

}  // namespace policies
