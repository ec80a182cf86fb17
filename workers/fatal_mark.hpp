#pragma once
#include <signal.h>

#include <string>

namespace worker {

/// While it lives, a signal that kills this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT)
/// first appends the line "died=signal N" to a file, so that the next run knows which cell did it.
/// A stack that overflows in the thread that made this counts as well; in other threads it leaves
/// no line. One at a time in a process.
class FatalMark {
 public:
  explicit FatalMark(const std::string& path);
  ~FatalMark();
  FatalMark(const FatalMark&) = delete;
  FatalMark& operator=(const FatalMark&) = delete;

 private:
  stack_t stack_before_{};
};

}  // namespace worker
