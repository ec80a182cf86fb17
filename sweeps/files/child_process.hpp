#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sweep {

/// How a process ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // the signal that killed it; 0: it returned
};

/// A forked copy of this process that does one piece of work and exits. It isolates crashes, such
/// as those of a library that reads damaged bytes. It dies with its parent and leaves no core file.
/// The parent must have a single thread.
class ChildProcess {
 public:
  /// Starts the child. `work` returns its exit code. Throws FileError when fork() fails.
  explicit ChildProcess(const std::function<int()>& work);
  /// Kills the child, unless wait() has returned.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildEnd wait();
  /// Ends it by SIGKILL.
  ChildEnd kill();
  /// Empty while it goes on.
  std::optional<ChildEnd> end_now();

 private:
  std::optional<ChildEnd> ended(int flags);

  pid_t pid_;
};

/// The text that a child wrote, and how it ended.
struct ChildReport {
  std::string text;
  ChildEnd end;
};

/// Runs `work` in a child and returns its text. An exception ends the child with exit code 1 and
/// its message as the text. A child that writes nothing for `most` is killed (SIGKILL), whatever
/// else still holds its pipe.
ChildReport report_of_child(const std::function<std::string()>& work,
                            std::optional<std::chrono::milliseconds> most = {});

/// Whether a signal means that the process crashed: SEGV, BUS, FPE, ILL or ABRT.
bool is_crash(int signal);

}  // namespace sweep
