#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace driver {

/// Retries an action that fails because the disk is full, until there is space. A disk that is full
/// for a while then costs no result.
struct SpaceWait {
  double longest_s = 0;
  std::chrono::nanoseconds pause = std::chrono::seconds(1);  // between two tries
  /// How often the run was asked to end; the wait ends when this number changes.
  std::function<int()> interruptions = [] { return 0; };
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<void()> on_pause = [] {};  // called before each pause

  /// Rethrows what `action` throws; sweep::ArchiveNoSpace only after the longest wait or when the
  /// run is asked to end.
  void operator()(const std::function<void()>& action) const;
};

}  // namespace driver
