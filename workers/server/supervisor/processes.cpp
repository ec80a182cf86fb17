#include "workers/server/supervisor/processes.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "workers/server/supervisor/supervisor.hpp"

namespace server {
namespace {

namespace fs = std::filesystem;

std::mutex tokens_mutex;
std::set<std::string> tokens_in_use;
int tokens_taken = 0;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Process ids of other containers mean other processes here.
std::string pid_namespace() {
  std::error_code error;
  const std::string link = fs::read_symlink("/proc/self/ns/pid", error);  // "pid:[4026531836]"
  const std::size_t open = link.find('[');
  return open == std::string::npos ? "0" : link.substr(open + 1, link.find(']') - open - 1);
}

/// "NAMESPACE.PID.START", of a process.
std::string name_of(pid_t pid) {
  constexpr int kStart = 20;
  return pid_namespace() + '.' + std::to_string(pid) + '.' + stat_field(pid, kStart);
}

/// The token in a process's environment; empty without one.
std::string token_of(const fs::path& process) {
  const std::string environment = '\0' + bytes_of(process / "environ");
  const std::string wanted = '\0' + std::string(kTokenName) + '=';
  const std::size_t found = environment.find(wanted);
  if (found == std::string::npos) return {};
  return environment.c_str() + found + wanted.size();
}

bool is_orphan(const std::string& token) {
  if (token.empty()) return false;
  const std::lock_guard lock(tokens_mutex);
  if (tokens_in_use.contains(token)) return false;
  const std::string owner = token.substr(0, token.rfind('.'));
  if (!owner.starts_with(pid_namespace() + '.')) return false;  // its owner cannot be seen here
  const std::size_t first = owner.find('.') + 1;
  pid_t pid = 0;
  std::from_chars(owner.data() + first, owner.data() + owner.size(), pid);
  return pid == ::getpid() || name_of(pid) != owner;
}

/// Kills a process if it is still the one with this token, and waits for its end.
bool kill_one(pid_t pid, const std::string& token) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return false;
  const bool same = token_of("/proc/" + std::to_string(pid)) == token;
  if (same && ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0) {
    constexpr int kLongestMs = 10'000;
    pollfd end{fd, POLLIN, 0};
    ::poll(&end, 1, kLongestMs);
  }
  ::close(fd);
  return same;
}

/// Ends the orphans among the processes that there are now. Returns their ids.
std::vector<pid_t> end_seen_orphans() {
  std::vector<pid_t> ended;
  for (const pid_t pid : process_ids()) {
    if (pid == ::getpid()) continue;
    const std::string token = token_of("/proc/" + std::to_string(pid));
    if (is_orphan(token) && kill_one(pid, token)) ended.push_back(pid);
  }
  return ended;
}

}  // namespace

namespace fs = std::filesystem;

std::vector<pid_t> process_ids() {
  std::vector<pid_t> ids;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data(), end, pid).ptr == end) ids.push_back(pid);
  }
  return ids;
}

std::string stat_field(pid_t pid, int number) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat", std::ios::binary);
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < number; ++i) fields >> field;
  return field;
}

std::string take_token() {
  const std::lock_guard lock(tokens_mutex);
  const std::string owner = name_of(::getpid());
  return *tokens_in_use.insert(owner + '.' + std::to_string(++tokens_taken)).first;
}

void release_token(const std::string& token) {
  const std::lock_guard lock(tokens_mutex);
  tokens_in_use.erase(token);
}

std::vector<pid_t> end_orphans() {
  std::vector<pid_t> ended = end_seen_orphans();
  // A process within exec() has no environment for a moment, and one that ends may have started
  // another meanwhile: where there was one orphan, others are looked for until none came for long.
  constexpr int kQuietLooks = 4;
  for (int quiet = 0; !ended.empty() && quiet < kQuietLooks; ++quiet) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::vector<pid_t> found = end_seen_orphans();
    if (!found.empty()) quiet = 0;
    ended.insert(ended.end(), found.begin(), found.end());
  }
  return ended;
}

}  // namespace server
