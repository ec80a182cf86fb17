// Which process listens on a port, from what the system lists of sockets and of processes.
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "workers/server/supervisor/supervisor.hpp"

namespace server {
namespace {

namespace fs = std::filesystem;

/// The sockets that listen on a TCP port, as links of open files name them: "socket:[4711]".
std::set<std::string> listeners_on(int port) {
  constexpr int kInode = 9, kState = 3, kLocal = 1;
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::vector<std::string> fields;
      for (std::string word; words >> word;) fields.push_back(word);
      if (fields.size() <= kInode || fields[kState] != "0A") continue;
      const std::string& local = fields[kLocal];  // "0100007F:1F90"
      int found = 0;
      const char* digits = local.data() + local.rfind(':') + 1;
      std::from_chars(digits, local.data() + local.size(), found, 16);
      if (found == port) sockets.insert("socket:[" + fields[kInode] + ']');
    }
  }
  return sockets;
}

bool has_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator each(process / "fd", error), end; !error && each != end;
       each.increment(error)) {
    std::error_code unseen;
    if (sockets.contains(fs::read_symlink(each->path(), unseen))) return true;
  }
  return false;
}

bool descends_from(pid_t pid, pid_t ancestor) {
  while (pid > 1 && pid != ancestor) {
    const std::optional<sweep::ProcessFacts> facts = sweep::facts_of(pid);
    pid = facts ? facts->parent : 0;
  }
  return pid == ancestor;
}

}  // namespace

std::optional<pid_t> SupervisedServer::other_listener(int port) const {
  const std::set<std::string> sockets = listeners_on(port);
  std::optional<pid_t> other;
  if (sockets.empty()) return other;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data(), end, pid).ptr != end || !has_one_of(entry.path(), sockets))
      continue;
    if (descends_from(pid, supervisor())) return std::nullopt;
    other = pid;
  }
  return other;
}

}  // namespace server
