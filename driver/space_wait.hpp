#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "sweeps/archive_errors.hpp"

namespace driver {

/// Repeats what fails for want of space until there is some, so that no result is computed twice
/// because a disk was full for a while.
class SpaceWait {
 public:
  struct Options {
    double longest_s = 0;
    std::chrono::nanoseconds pause = std::chrono::seconds(1);  // between two tries
    /// How often the run was asked to end; waiting ends when that changes.
    std::function<int()> interruptions = [] { return 0; };
    std::function<void(const std::string&)> say = [](const std::string&) {};
    std::function<void()> on_pause = [] {};  // before each
  };

  explicit SpaceWait(Options options) : options_(std::move(options)) {}

  /// What `action` returns. Throws what it throws, sweep::ArchiveNoSpace after the longest wait.
  template <class Action>
  auto operator()(const Action& action) const {
    for (Wait wait{options_.interruptions()};;) {
      try {
        return action();
      } catch (const sweep::ArchiveNoSpace& error) {
        if (!goes_on(wait, error)) throw;
      }
    }
  }

 private:
  struct Wait {
    int interruptions;
    int pauses = 0;
  };
  bool goes_on(Wait& wait, const sweep::ArchiveNoSpace& error) const;

  Options options_;
};

}  // namespace driver
