#include "workers/rank/fatal_mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

namespace worker {
namespace {

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// A signal handler can only access static memory.
char marked_file[4096];
volatile std::sig_atomic_t armed = 0;

extern "C" void leave_mark(int signal) {
  if (armed) {
    char line[] = "died=signal 00\n";
    line[12] = static_cast<char>('0' + signal / 10 % 10);
    line[13] = static_cast<char>('0' + signal % 10);
    const int file = open(marked_file, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0) {
      const auto written = write(file, line, sizeof line - 1);
      (void)written;
      fsync(file);
      close(file);
    }
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Stack of the handler: after an overflow the regular stack has no room for it.
alignas(16) std::array<char, 64 * 1024> handler_stack;

void handle_fatal(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : kFatal) sigaction(signal, &action, nullptr);
}

}  // namespace

FatalMark::FatalMark(const std::string& path) {
  if (path.empty() || path.size() >= sizeof marked_file) return;
  std::memcpy(marked_file, path.c_str(), path.size() + 1);
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  sigaltstack(&stack, &stack_before_);
  armed = 1;
  handle_fatal(leave_mark);
}

FatalMark::~FatalMark() {
  if (!armed) return;
  armed = 0;
  handle_fatal(SIG_DFL);
  sigaltstack(&stack_before_, nullptr);
}

}  // namespace worker
