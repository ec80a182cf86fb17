#include "workers/policies/plugin/python.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <vector>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/plugin/python_module.hpp"
#include "workers/policies/plugin/python_table.hpp"

namespace policies {
namespace {

using engine::InputError;

constexpr std::size_t kSendFrom = 1 << 16;  // bytes
/// Makes the module of the user's file importable, whatever the folder, and runs it.
constexpr const char* kStart =
    "import sys, types\n"
    "module = sys.modules['kvsweep_policy'] = types.ModuleType('kvsweep_policy')\n"
    "exec(compile(sys.argv[1], 'kvsweep_policy.py', 'exec'), module.__dict__)\n"
    "module.serve(sys.argv[2])\n";

struct Head {
  std::uint32_t number, size;
};

/// The environment, with hashes of text that are the same in every run.
std::vector<std::string> environment() {
  std::vector<std::string> all = {"PYTHONHASHSEED=0"};
  for (char** each = environ; *each != nullptr; ++each)
    if (!std::string_view(*each).starts_with("PYTHONHASHSEED=")) all.emplace_back(*each);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Starts python3 with `channel` as its descriptor 3, and returns its process id.
int start_python(const std::string& path, int channel) {
  std::vector<std::string> words = {"python3", "-B", "-c", kStart, std::string(python_module()),
                                    path};
  std::vector<std::string> settings = environment();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel, 3);
  pid_t process = -1;
  const int error = posix_spawnp(&process, "python3", &actions, nullptr, pointers(words).data(),
                                 pointers(settings).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw InputError(std::string("needs python3, which cannot be started: ") +
                     std::strerror(error));
  return process;
}

}  // namespace

std::string not_loaded_within(engine::Nanos most) {
  std::ostringstream text;
  text << "is not loaded within " << engine::to_seconds(most) << " s";
  return text.str();
}

PythonPolicy::PythonPolicy(const std::string& path, engine::Nanos most_loading) : path_(path) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw InputError(std::string("cannot be connected to Python: ") + std::strerror(errno));
  channel_ = ends[0];
  try {
    process_ = start_python(path, ends[1]);
    close(ends[1]);
    await_first(most_loading);
    const auto offers = answer(kPythonOffers);
    table_ = python_table(offers);
    imported_ = imported_digest(offers);
    serves_ = true;
  } catch (...) {
    if (process_ == -1) close(ends[1]);
    end();
    throw;
  }
}

PythonPolicy::~PythonPolicy() { end(); }

/// Closes the connection, at which the process ends.
void PythonPolicy::end() {
  close(channel_);
  if (process_ != -1) waitpid(process_, nullptr, 0);
}

/// Waits for the answer that the file gives when it has run. Ends a process that does not give it.
void PythonPolicy::await_first(engine::Nanos most_loading) {
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(most_loading);
  pollfd channel{channel_, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&channel, 1, static_cast<int>(most.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready != 0) return;
  kill(process_, SIGKILL);
  fail(not_loaded_within(most_loading));
}

/// What says where it is about the plugin, while a sweep is read.
void PythonPolicy::fail(const std::string& what) const {
  throw InputError((serves_ ? "policy.plugin " : "") + what + " (" + path_ + ')');
}

void PythonPolicy::begin(std::uint32_t function, std::size_t size) {
  if (unsent_.size() >= kSendFrom) send_all();
  const Head head{function, static_cast<std::uint32_t>(size)};
  append(bytes_of(head));
}

void PythonPolicy::send_all() {
  for (std::size_t sent = 0; sent < unsent_.size();) {
    const ssize_t some = send(channel_, unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) break;  // it has ended, and may have said why
    sent += static_cast<std::size_t>(some);
  }
  unsent_.clear();
}

void PythonPolicy::receive(void* to, std::size_t size) {
  for (std::size_t got = 0; got < size;) {
    const ssize_t some = recv(channel_, static_cast<char*>(to) + got, size - got, 0);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) fail_with_end();
    got += static_cast<std::size_t>(some);
  }
}

std::span<const std::byte> PythonPolicy::answer(std::size_t size) {
  send_all();
  Head head{};
  receive(&head, sizeof head);
  answer_.resize(head.size);
  receive(answer_.data(), head.size);
  if (head.number == 0) fail("fails in Python: " + answer_);
  if (head.size != size)
    fail("answers with " + std::to_string(head.size) + " bytes in place of " +
         std::to_string(size));
  return std::as_bytes(std::span(answer_));
}

void PythonPolicy::fail_with_end() {
  int status = 0;
  const bool known = process_ != -1 && waitpid(process_, &status, 0) == process_;
  process_ = -1;
  std::string how = "";
  if (known && WIFSIGNALED(status)) how = " by signal " + std::to_string(WTERMSIG(status));
  if (known && WIFEXITED(status)) how = " with exit code " + std::to_string(WEXITSTATUS(status));
  fail("has a Python process that has ended" + how);
}

}  // namespace policies
