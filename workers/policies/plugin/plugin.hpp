#pragma once
// Private to this room: a plugin with its state for one cell, and calls of its functions.
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/policies/plugin/config.hpp"
#include "workers/policies/plugin/library.hpp"

namespace policies {

/// Throws engine::InputError, which says that the plugin answers what its header forbids.
[[noreturn]] void reject_answer(const std::string& what);

/// Calls functions of a plugin and adds up what they cost. Everything throws engine::InputError
/// when a call takes longer than the config allows.
class Plugin {
 public:
  explicit Plugin(const PluginConfig& config);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const kvsweep_policy& table() const { return library_.table(); }
  void require(const std::string& axis) const { library_.require(axis); }

  /// Calls a function that the plugin has with its state and what is given, and returns its answer.
  /// `name` is for messages.
  template <class Result, class... Types, class... Given>
  Result ask(const char* name, Result (*function)(void*, Types...), Given&&... given) try {
    const engine::Nanos begun = clock_.now();
    if constexpr (std::is_void_v<Result>) {
      function(state_, std::forward<Given>(given)...);
      count(name, begun);
    } else {
      const Result result = function(state_, std::forward<Given>(given)...);
      count(name, begun);
      return result;
    }
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    reject_answer(std::string("throws out of ") + name);
  }
  /// Calls a function that the plugin need not have.
  template <class... Types, class... Given>
  void tell(const char* name, void (*function)(void*, Types...), Given&&... given) {
    if (function != nullptr) ask(name, function, std::forward<Given>(given)...);
  }

  /// The turn has arrived, or has ended: tells the plugin, unless it knows. Several of the
  /// decisions that it makes for a cell hear of the same turn.
  void arrived(const engine::Request& turn);
  void ended(const engine::Request& turn, engine::Nanos now);

 private:
  void count(const char* name, engine::Nanos begun);

  PluginLibrary library_;
  PluginUse* use_;
  engine::Nanos time_limit_;
  engine::WallClock clock_;
  std::uint64_t arrivals_known_ = 0;  // ids below are known
  std::vector<bool> ends_known_;      // by id
  void* state_ = nullptr;
};

/// The turn as plugins see it.
kvsweep_turn described(const engine::Request& request, bool pinned = false);

}  // namespace policies
