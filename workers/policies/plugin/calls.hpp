#pragma once
// Private to this room: a plugin's state, and calls of its functions.
#include <utility>

#include "workers/engine/base/request.hpp"
#include "workers/policies/plugin/config.hpp"
#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

/// Calls functions of a plugin, those that it has, and adds up what they cost.
class PluginCalls {
 public:
  explicit PluginCalls(PluginUse* use) : use_(use) {}

  /// Returns what the function does. It must not be null.
  template <class Result, class... Types, class... Given>
  Result operator()(Result (*function)(Types...), Given&&... given) const {
    const Measured measured(*this);
    return function(std::forward<Given>(given)...);
  }
  /// Does nothing where the function is null.
  template <class... Types, class... Given>
  void notice(void (*function)(Types...), Given&&... given) const {
    if (function != nullptr) (*this)(function, std::forward<Given>(given)...);
  }

 private:
  class Measured {
   public:
    explicit Measured(const PluginCalls& calls) : calls_(calls), begun_(calls.clock_.now()) {}
    ~Measured() {
      if (calls_.use_ == nullptr) return;
      ++calls_.use_->calls;
      calls_.use_->time += calls_.clock_.now() - begun_;
    }
    Measured(const Measured&) = delete;
    Measured& operator=(const Measured&) = delete;

   private:
    const PluginCalls& calls_;
    engine::Nanos begun_;
  };

  PluginUse* use_;
  engine::WallClock clock_;
};

/// What create() of a table with create and destroy has made.
template <class Table>
class PluginState {
 public:
  PluginState(const Table& table, const kvsweep_setup& setup) : table_(table) {
    if (table.create != nullptr) state_ = table.create(&setup);
  }
  ~PluginState() {
    if (table_.destroy != nullptr) table_.destroy(state_);
  }
  PluginState(const PluginState&) = delete;
  PluginState& operator=(const PluginState&) = delete;
  void* get() const { return state_; }

 private:
  const Table& table_;
  void* state_ = nullptr;
};

/// The turn as plugins see it.
kvsweep_turn described(const engine::Request& request, bool pinned = false);

}  // namespace policies
