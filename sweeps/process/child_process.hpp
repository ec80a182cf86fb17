#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/files/durable_file.hpp"

namespace sweep {

/// How a process ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // the signal that killed it; 0: it returned
};

/// From the status that waitpid() gives.
ChildEnd end_of(int status);

/// Owns a child of this process.
class ChildProcess {
 public:
  /// Starts a forked copy of this process, which must have a single thread, for one piece of work:
  /// `work` returns its exit code. It isolates crashes, such as those of a library that reads
  /// damaged bytes. It dies with its parent and leaves no core file. Throws FileError when fork()
  /// fails.
  explicit ChildProcess(const std::function<int()>& work);
  /// Takes ownership of a child that was started otherwise; none: -1.
  explicit ChildProcess(pid_t started = -1) : pid_(started) {}
  /// Kills the child, unless its end is known.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  pid_t pid() const { return pid_; }
  /// These three throw FileError when how it ended is unknown.
  ChildEnd wait() { return *ended(0); }
  /// Ends it by SIGKILL.
  ChildEnd kill();
  /// Empty while it goes on.
  std::optional<ChildEnd> end_now();
  /// Waits for its end, if there is a child.
  void join() noexcept;

 private:
  std::optional<ChildEnd> ended(int flags);

  pid_t pid_;
};

/// Words of a command, or an environment, as exec() takes them.
class ExecTexts {
 public:
  explicit ExecTexts(std::vector<std::string> texts);
  ExecTexts(const ExecTexts&) = delete;
  ExecTexts& operator=(const ExecTexts&) = delete;
  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

/// The environment of this process with these values, "NAME=VALUE", in place of its own.
std::vector<std::string> environment_with(const std::vector<std::string>& values);

/// A process as the system describes it.
struct ProcessFacts {
  char state = 0;  // 'Z': a zombie, 'X': dead
  pid_t parent = 0;
  std::int64_t start_ticks = 0;  // clock ticks since boot
};
/// Empty if /proc does not show the process.
std::optional<ProcessFacts> facts_of(pid_t pid);

/// The ends of a pipe: for reading, and for writing. Throws FileError.
std::pair<Descriptor, Descriptor> make_pipe();

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
