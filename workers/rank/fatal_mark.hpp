#pragma once
#include <signal.h>

#include <string>

namespace worker {

/// While this object exists, a signal that kills the process (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
/// SIGABRT) first appends the lines "by=CELL" and "died=signal N" to a file, so that the next run
/// knows which cell caused it. This includes a stack overflow in the thread that created the
/// object; in other threads an overflow leaves no line. At most one object per process.
class FatalMark {
 public:
  FatalMark(const std::string& path, const std::string& cell);
  ~FatalMark();
  FatalMark(const FatalMark&) = delete;
  FatalMark& operator=(const FatalMark&) = delete;

 private:
  stack_t stack_before_{};
};

}  // namespace worker
