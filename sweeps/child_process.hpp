#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

namespace sweep {

/// How a process ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // that killed it; 0: it returned
};

/// A forked copy of this process that does one piece of work and ends, so that a crash of a library
/// over damaged bytes ends nothing else. It dies with its parent and leaves no core. To be started
/// from a process of one thread.
class ChildProcess {
 public:
  /// Starts it. `work` returns the exit code. Throws FileError when there can be no more processes.
  explicit ChildProcess(const std::function<int()>& work);
  /// Ends it, unless wait() has returned.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildEnd wait();

 private:
  pid_t pid_;
};

/// What a child wrote, and how it ended.
struct ChildReport {
  std::string text;
  ChildEnd end;
};

/// Runs `work`, which returns a text, in a child, and takes the text from it. An exception ends the
/// child with exit code 1 and its message as the text.
ChildReport report_of_child(const std::function<std::string()>& work);

/// Whether a signal is how a process dies of its own fault: SEGV, BUS, FPE, ILL, ABRT.
bool is_crash(int signal);

}  // namespace sweep
