#include "sweeps/process/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

namespace sweep {

namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// Resets signal handlers: the parent's would report a crash of the child as the parent's own.
void behave_as_child(pid_t parent) {
  for (const int signal : kCrashes) std::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
}

using Wait = std::optional<std::chrono::milliseconds>;

/// Empty: nothing came for so long.
std::optional<std::string> read_text(int descriptor, Wait most) {
  pollfd polled{descriptor, POLLIN, 0};
  std::string text;
  char block[4096];
  for (;;) {
    const int ready = ::poll(&polled, 1, most ? static_cast<int>(most->count()) : -1);
    const ssize_t read = ready > 0 ? ::read(descriptor, block, sizeof block) : ready;
    if (read < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    if (read <= 0) return text;
    text.append(block, static_cast<std::size_t>(read));
  }
}

}  // namespace

ChildProcess::ChildProcess(const std::function<int()>& work) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw FileError("start", "a process", errno);
  if (pid_ > 0) return;
  behave_as_child(parent);
  int exit_code = 1;
  try {
    exit_code = work();
  } catch (...) {  // errors are reported by `work` itself
  }
  ::_exit(exit_code);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  join();
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

void ChildProcess::join() noexcept {
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

ChildEnd ChildProcess::kill() {
  ::kill(pid_, SIGKILL);
  return wait();
}

std::optional<ChildEnd> ChildProcess::end_now() { return ended(WNOHANG); }

std::optional<ChildEnd> ChildProcess::ended(int flags) {
  if (pid_ <= 0) throw FileError("wait for", "a process", ECHILD);
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(pid_, &status, flags);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  pid_ = -1;
  if (ended < 0) throw FileError("wait for", "a process", errno);
  return end_of(status);
}

ChildEnd end_of(int status) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

ExecTexts::ExecTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  for (std::string& text : texts_) pointers_.push_back(text.data());
  pointers_.push_back(nullptr);
}

std::vector<std::string> environment_with(const std::vector<std::string>& values) {
  const auto name_of = [](std::string_view value) { return value.substr(0, value.find('=') + 1); };
  std::vector<std::string> all = values;
  for (char** each = ::environ; *each != nullptr; ++each)
    if (std::ranges::find(values, name_of(*each), name_of) == values.end()) all.emplace_back(*each);
  return all;
}

std::optional<ProcessFacts> facts_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text, '\0')) return std::nullopt;
  // The process name before the state may contain anything, so the last ')' counts.
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
  ProcessFacts facts;
  fields >> facts.state >> facts.parent;
  constexpr int kFieldsBetween = 17;  // man 5 proc: the parent is field 4, the start 22
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  if (!(fields >> facts.start_ticks)) return std::nullopt;
  return facts;
}

std::pair<Descriptor, Descriptor> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw FileError("make", "a pipe", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

ChildReport report_of_child(const std::function<std::string()>& work, Wait most) {
  auto pipe = make_pipe();
  Descriptor &from = pipe.first, &to = pipe.second;
  ChildProcess child([&] {
    int exit_code = 0;
    std::string text;
    try {
      text = work();
    } catch (const std::exception& error) {
      text = error.what();
      exit_code = 1;
    }
    to.write(text);
    return exit_code;
  });
  to.close();
  std::optional<std::string> text = read_text(from.get(), most);
  if (!text) return {"", child.kill()};
  return {std::move(*text), child.wait()};
}

bool is_crash(int signal) { return std::ranges::find(kCrashes, signal) != kCrashes.end(); }

}  // namespace sweep
