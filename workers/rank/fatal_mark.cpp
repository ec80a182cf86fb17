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
char last_words[256];  // up to the number of the signal
std::size_t last_words_bytes = 0;
volatile std::sig_atomic_t armed = 0;

extern "C" void leave_mark(int signal) {
  if (armed) {
    char* end = last_words + last_words_bytes;
    *end++ = static_cast<char>('0' + signal / 10 % 10);
    *end++ = static_cast<char>('0' + signal % 10);
    *end++ = '\n';
    const int file = open(marked_file, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0) {
      const auto written = write(file, last_words, static_cast<std::size_t>(end - last_words));
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

FatalMark::FatalMark(const std::string& path, const std::string& cell) {
  const std::string words = "by=" + cell + "\ndied=signal ";
  constexpr std::size_t kNumber = 3;  // bytes, with the end of the line
  if (path.empty() || path.size() >= sizeof marked_file ||
      words.size() + kNumber > sizeof last_words)
    return;
  std::memcpy(last_words, words.data(), words.size());
  last_words_bytes = words.size();
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
