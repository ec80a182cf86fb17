#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/process/child_process.hpp"

namespace server {

/// A program to be started as a server.
struct Launch {
  std::vector<std::string> words;        // program and arguments; the program is looked for in PATH
  std::vector<std::string> environment;  // "NAME=VALUE", in place of this process's values
  std::string log;                       // file that its output is appended to
  std::chrono::seconds grace{20};        // between SIGTERM and SIGKILL
};

/// A server, with a supervisor between it and this process. The supervisor is a process that adopts
/// all descendants of the server, whatever process group or session they enter. It ends them when
/// the server ends, and when this process does, however it does. If the supervisor is killed as
/// well, the server dies with it, and the server's descendants live on.
class SupervisedServer {
 public:
  /// Returns once the supervisor runs. Throws std::system_error.
  explicit SupervisedServer(const Launch& launch);
  /// Ends the server and all its descendants, with SIGTERM first, and waits for that.
  ~SupervisedServer();
  SupervisedServer(const SupervisedServer&) = delete;
  SupervisedServer& operator=(const SupervisedServer&) = delete;

  /// How the server ended: "it ended with exit code 1"; empty while it runs. A program that could
  /// not be started ends with code 127 and says why in its log.
  /// Waits for that for up to `patience`.
  std::optional<std::string> ended(std::chrono::milliseconds patience = {});
  /// A process that is none of the server's and listens on this TCP port; empty also where the
  /// listening process cannot be seen.
  std::optional<pid_t> other_listener(int port) const;
  pid_t supervisor() const { return supervisor_.pid(); }

 private:
  sweep::ChildProcess supervisor_;
  sweep::Descriptor control_;  // to the supervisor, which sees it close when this process ends
  std::optional<std::string> end_;
};

}  // namespace server
