// A whole run with its servers, killed without warning.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/server/processes.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/server/http/loop.hpp"

namespace {

namespace fs = std::filesystem;
using support::all_end;
using support::text_of;

/// A sweep of two cells on the scripted server, in a folder of its own.
class KilledRun {
 public:
  KilledRun() {
    const std::string server = fs::absolute("tests/server/scripted_server.py").string();
    sweep_ =
        folder_.write("s.toml", R"(schema = 1
model = "tiny-llama-3"
gpu = "h100-80gb"
[sweep]
name = "killed"
backend = "server"
[axes]
jps = [50, 100]
[server]
kind = "openai"
version = "1"
command = ")" + std::string(KVSWEEP_PYTHON) +
                                    ' ' + server + " --port {port} --requests " + bodies() + R"("
[engine]
max_model_len = 4096
[workload]
kind = "agent8"
jobs = 2
scale = 0.02
gap_s = 0.01
)");
  }

  std::string bodies() const { return (folder_.path() / "bodies").string(); }
  std::string archive() const { return (folder_.path() / "a.h5").string(); }
  std::string output() const { return text_of((folder_.path() / "out").string()); }

  pid_t start(std::vector<std::string> words) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int out = ::open((folder_.path() / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    words.insert(words.begin(), KVSWEEP_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  pid_t start_run() const {
    return start({"run", sweep_, "--archive", archive(), "--as-sku", "h100-80gb"});
  }

  /// Processes whose command names the file of bodies: the servers.
  std::vector<pid_t> servers() const {
    std::vector<pid_t> pids;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (text_of((entry.path() / "cmdline").string()).find(bodies()) != std::string::npos)
        pids.push_back(std::stoi(name));
    }
    return pids;
  }

 private:
  support::TempDir folder_;
  std::string sweep_;
};

int exit_code(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a run killed with SIGKILL leaves no server, and is resumed to the end") {
  if (!server::has_http()) SKIP_TEST("built without libcurl");
  const KilledRun run;
  REQUIRE(::mkfifo(run.bodies().c_str(), 0600) == 0);
  const pid_t killed = run.start_run();
  CHECK_FALSE(text_of(run.bodies()).empty());  // waits until a turn has come to the server
  const std::vector<pid_t> servers = run.servers();
  CHECK(servers.size() == 1);
  ::kill(killed, SIGKILL);
  CHECK(exit_code(killed) == 128 + SIGKILL);
  CHECK(all_end(servers));
  REQUIRE(::unlink(run.bodies().c_str()) == 0);  // from now on a plain file
  const int resumed = exit_code(run.start_run());
  INFO(run.output());
  CHECK(resumed == 0);
  CHECK(run.servers().empty());
  CHECK(exit_code(run.start({"check", run.archive()})) == 0);
  CHECK_THAT(run.output(), Catch::Matchers::Contains("2 with a result"));
  CHECK(exit_code(run.start({"diff", run.archive(), "0", "1"})) == 2);
  CHECK_THAT(run.output(), Catch::Matchers::Contains("whose steps are not seen"));
  CHECK(exit_code(run.start({"fit", run.archive()})) == 2);
  CHECK_THAT(run.output(), Catch::Matchers::Contains("did not log them (server.steps = true)"));
  CHECK(exit_code(run.start({"table", run.archive()})) == 0);
  CHECK_THAT(run.output(), Catch::Matchers::Contains("MEASURED (server, openai 1)"));
}
