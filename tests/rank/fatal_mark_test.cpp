#include "workers/rank/fatal_mark.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

namespace {

/// A process of its own that dies; what it left in its mark, and the signal that ended it.
struct Death {
  int signal;
  std::string mark;
};

Death die(const std::function<void(const std::string& mark)>& action) {
  support::TempDir folder;
  const std::string path = folder.write("cell.run", "attempt=1\n");
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    // The framework has handlers of its own.
    for (const int signal : {SIGSEGV, SIGABRT, SIGTERM}) std::signal(signal, SIG_DFL);
    action(path);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, text.str()};
}

/// Two that call each other as deep as it goes; what they keep in their frames is used after.
int dive(const volatile int* above);
int dive_on(const volatile int* above) {
  volatile int frame[128] = {*above};
  return dive(frame) + frame[0];
}
int dive(const volatile int* above) {
  volatile int frame[128] = {*above + 1};
  return frame[0] == 0 ? 0 : dive_on(frame) + frame[0];
}

const std::string kCell = "a-cell";

}  // namespace

TEST_CASE("a signal that kills signs for it in the cell's mark") {
  const Death death = die([](const std::string& path) {
    const worker::FatalMark mark(path, kCell);
    std::raise(SIGSEGV);
  });
  CHECK(death.signal == SIGSEGV);
  CHECK(death.mark == "attempt=1\nby=a-cell\ndied=signal 11\n");
}

TEST_CASE("a stack that overflows signs for it as well") {
  const Death death = die([](const std::string& path) {
    const worker::FatalMark mark(path, kCell);
    volatile int start = 1;
    _exit(dive(&start));
  });
  CHECK(death.signal == SIGSEGV);
  CHECK(death.mark == "attempt=1\nby=a-cell\ndied=signal 11\n");
}

TEST_CASE("a signal between cells, or one that asks to stop, signs for nothing") {
  const Death between = die([](const std::string& path) {
    { const worker::FatalMark mark(path, kCell); }
    std::raise(SIGABRT);
  });
  CHECK(between.signal == SIGABRT);
  CHECK(between.mark == "attempt=1\n");
  const Death asked = die([](const std::string& path) {
    const worker::FatalMark mark(path, kCell);
    std::raise(SIGTERM);
  });
  CHECK(asked.signal == SIGTERM);
  CHECK(asked.mark == "attempt=1\n");
}
