#pragma once
#include <memory>
#include <string>

#include "workers/engine/base/clock.hpp"
#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

class PythonPolicy;

/// A cell's plugin, loaded while this lives: a shared object with the table of
/// kvsweep_policy.h, or a Python file (.py) with a class that does as much.
class PluginLibrary {
 public:
  /// The longest time that loading a file may take.
  static constexpr engine::Nanos kMostLoading = std::chrono::seconds(30);

  /// Throws engine::InputError, which says what was found, when the file cannot be loaded, has no
  /// table or one of another version. A shared object is loaded by a child process first, once, so
  /// that one that crashes or never ends is such an error, too.
  explicit PluginLibrary(const std::string& path, engine::Nanos most_loading = kMostLoading);
  ~PluginLibrary();

  /// The functions that it has.
  const kvsweep_policy& table() const { return table_; }
  /// Whether it has what it must have to decide on the axis policy.`axis`.
  bool offers(const std::string& axis) const;
  /// Throws engine::InputError when it lacks what it must have to decide on the axis policy.`axis`.
  void require(const std::string& axis) const;
  /// SHA-256 of the files that a Python file has imported from its own folder as it was loaded, in
  /// hexadecimal digits; empty where there are none, and for a shared object, which holds all that
  /// it was compiled from.
  std::string imported() const;
  /// The state of a cell, for the functions of the table; destroy() must follow. There is one for a
  /// Python file.
  void* create(const kvsweep_setup& setup);
  void destroy(void* state);

 private:
  struct Close {
    void operator()(void* handle) const noexcept;
  };
  std::string path_;
  std::unique_ptr<void, Close> handle_;
  std::unique_ptr<PythonPolicy> python_;
  kvsweep_policy table_{};
};

}  // namespace policies
