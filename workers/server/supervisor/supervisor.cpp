#include "workers/server/supervisor/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace server {
namespace {

// Between fork() and exec(), and in the supervisor, which is a fork of a process with threads, only
// async-signal-safe functions may be called: no allocation, no exceptions.

constexpr int kControl = 3, kFirstUnused = 4;

struct Prepared {
  char** words;
  char** environment;
  int control;
  int log;
  int grace_s;
};

void write_line(const char* before, const char* what, const char* reason) {
  for (const char* text : {before, what, ": ", reason, "\n"})
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

[[noreturn]] void become_server(const Prepared& prepared) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGQUIT})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::close_range(kControl, ~0U, 0);
  ::environ = prepared.environment;
  ::execvp(prepared.words[0], prepared.words);
  write_line("kvsweep cannot start ", prepared.words[0], ::strerrordesc_np(errno));
  ::_exit(127);
}

/// Sends SIGKILL to every child of this process. Those of them that they leave behind are its
/// children next. False where the system does not list them (a kernel without
/// CONFIG_PROC_CHILDREN).
bool kill_children() {
  const sweep::Descriptor file(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return false;
  char text[4096];
  const ssize_t size = ::read(file.get(), text, sizeof text);
  pid_t pid = 0;
  for (ssize_t i = 0; i < size; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      pid = pid * 10 + (text[i] - '0');
    } else {
      if (pid > 0) ::kill(pid, SIGKILL);
      pid = 0;
    }
  }
  return true;
}

class Supervisor {
 public:
  explicit Supervisor(const Prepared& prepared) : prepared_(prepared) {}

  [[noreturn]] void run() {
    detach();
    server_ = ::fork();
    if (server_ == 0) become_server(prepared_);
    if (server_ < 0) report(127 << 8);
    if (server_ > 0) ::setpgid(server_, server_);  // as it does itself, in either order
    pollfd fds[] = {{kControl, POLLIN, 0}, {child_ended_, POLLIN, 0}};
    while (server_ > 0) {
      ::poll(fds, 2, -1);
      reap();
      if (fds[0].revents != 0) break;  // closed, or a word to stop
    }
    end_all();
    ::_exit(0);
  }

 private:
  void detach() {
    ::setsid();
    ::prctl(PR_SET_NAME, "kvsweep-server");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGQUIT})
      ::signal(signal, SIG_IGN);
    ::signal(SIGCHLD, SIG_DFL);
    // Above the numbers that they get in the end, since dup2() closes what it replaces.
    const int control = ::fcntl(prepared_.control, F_DUPFD, 16);
    const int log = ::fcntl(prepared_.log, F_DUPFD, 16);
    ::dup2(control, kControl);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::close_range(kFirstUnused, ~0U, 0);
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &child, nullptr);
    child_ended_ = ::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
  }

  /// Collects children that have ended. Whether there are others.
  bool reap() {
    signalfd_siginfo ignored;
    while (::read(child_ended_, &ignored, sizeof ignored) > 0) continue;
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0)
      if (pid == server_) {
        server_ = 0;
        report(status);
      }
    return pid == 0;
  }

  void report(int status) { ::send(kControl, &status, sizeof status, MSG_NOSIGNAL); }

  /// Gives the server its time to end by itself, and kills what is left.
  void end_all() {
    const pid_t group = server_;
    if (server_ > 0) {
      ::kill(-group, SIGTERM);
      wait_for_server();
      ::kill(-group, SIGKILL);
    }
    while (reap()) {
      if (!kill_children()) return;  // nothing else finds them
      pollfd ended{child_ended_, POLLIN, 0};
      ::poll(&ended, 1, kPatienceMs);  // a child may have been born meanwhile
    }
  }

  void wait_for_server() {
    const sweep::Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    itimerspec when{};
    when.it_value.tv_sec = prepared_.grace_s;
    when.it_value.tv_nsec = 1;
    ::timerfd_settime(timer.get(), 0, &when, nullptr);
    pollfd fds[] = {{timer.get(), POLLIN, 0}, {child_ended_, POLLIN, 0}};
    while (server_ > 0) {
      ::poll(fds, 2, -1);
      reap();
      if (fds[0].revents != 0) break;
    }
  }

  static constexpr int kPatienceMs = 100;

  const Prepared& prepared_;
  pid_t server_ = 0;
  int child_ended_ = -1;
};

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string in_words(const sweep::ChildEnd& end) {
  if (end.signal == 0) return "it ended with exit code " + std::to_string(end.exit_code);
  return "it was killed by signal " + std::to_string(end.signal) + " (" + ::strsignal(end.signal) +
         ')';
}

}  // namespace

SupervisedServer::SupervisedServer(const Launch& launch) : control_(-1) {
  sweep::ExecTexts words(launch.words), environment(sweep::environment_with(launch.environment));
  const std::filesystem::path folder = std::filesystem::path(launch.log).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  const sweep::Descriptor log(
      ::open(launch.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.get() < 0) throw_errno(launch.log);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  control_ = sweep::Descriptor(ends[0]);
  const sweep::Descriptor theirs(ends[1]);
  const Prepared prepared{words.data(), environment.data(), theirs.get(), log.get(),
                          static_cast<int>(launch.grace.count())};
  const pid_t child = ::fork();
  if (child == 0) Supervisor(prepared).run();
  if (child < 0) throw_errno("fork");
  supervisor_ = sweep::ChildProcess(child);
}

SupervisedServer::~SupervisedServer() {
  control_ = sweep::Descriptor(-1);  // at which the supervisor ends the server
  supervisor_.join();
}

std::optional<std::string> SupervisedServer::ended(std::chrono::milliseconds patience) {
  if (end_) return end_;
  pollfd news{control_.get(), POLLIN, 0};
  ::poll(&news, 1, static_cast<int>(patience.count()));
  int status = 0;
  const ssize_t size = ::recv(control_.get(), &status, sizeof status, MSG_DONTWAIT);
  if (size == sizeof status) end_ = in_words(sweep::end_of(status));
  if (size == 0) end_ = "its supervisor was killed; processes of the server may still run";
  return end_;
}

}  // namespace server
