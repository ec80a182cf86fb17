#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "sweeps/archive/errors.hpp"

namespace driver {

/// Retries an action that fails because the disk is full, until there is space. A disk that is full
/// for a while then costs no result.
class SpaceWait {
 public:
  struct Options {
    double longest_s = 0;
    std::chrono::nanoseconds pause = std::chrono::seconds(1);  // between two tries
    /// How often the run was asked to end; the wait ends when this number changes.
    std::function<int()> interruptions = [] { return 0; };
    std::function<void(const std::string&)> say = [](const std::string&) {};
    std::function<void()> on_pause = [] {};  // called before each pause
  };

  explicit SpaceWait(Options options) : options_(std::move(options)) {}

  /// Returns what `action` returns and rethrows what it throws; rethrows sweep::ArchiveNoSpace only
  /// after the longest wait or when the run is asked to end.
  template <class Action>
  auto operator()(const Action& action) const {
    for (Wait wait{options_.interruptions()};;) {
      try {
        return action();
      } catch (const sweep::ArchiveNoSpace& error) {
        if (!should_retry(wait, error)) throw;
      }
    }
  }

 private:
  struct Wait {
    int interruptions;
    int pauses = 0;
  };
  bool should_retry(Wait& wait, const sweep::ArchiveNoSpace& error) const;

  Options options_;
};

}  // namespace driver
