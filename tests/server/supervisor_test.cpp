#include "workers/server/supervisor/supervisor.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <sstream>
#include <vector>

#include "tests/server/processes.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

namespace {

using Catch::Matchers::Contains;
using support::all_end;
using support::text_of;

/// A server of tests: a shell script. It writes the ids of its processes to a FIFO, whose reader
/// thereby waits until they run.
class Script {
 public:
  explicit Script(const std::string& commands) {
    REQUIRE(::mkfifo((folder_.path() / "ids").c_str(), 0600) == 0);
    path_ = folder_.write("server.sh", "cd " + folder_.path().string() + "\n" + commands);
  }
  server::Launch launch() const {
    server::Launch launch;
    launch.words = {"sh", path_};
    launch.environment = {"ANSWER=42"};
    launch.log = log();
    launch.grace = std::chrono::seconds(1);
    return launch;
  }
  std::string log() const { return (folder_.path() / "log").string(); }
  /// The ids that the script writes to `ids`; waits for them.
  std::vector<pid_t> ids() const {
    std::istringstream text(text_of((folder_.path() / "ids").string()));
    return {std::istream_iterator<pid_t>(text), {}};
  }

 private:
  support::TempDir folder_;
  std::string path_;
};

/// A server with a child in its group, and one that has left its group, its session and its parent
/// and ignores signals to end.
const char* const kFamily =
    "sleep 1000 & child=$!\n"
    "setsid sh -c 'trap \"\" TERM INT HUP; sleep 1000 & echo $! $$ >away; wait' &\n"
    "until [ -s away ]; do :; done\n"
    "read grandchild parent <away\n"
    "echo $$ $child $grandchild $parent >ids\n"
    "wait\n";

/// A worker: a process that starts a server and waits to be killed.
pid_t start_worker(const Script& script) {
  const pid_t worker = ::fork();
  if (worker != 0) return worker;
  const server::SupervisedServer server(script.launch());
  while (true) ::pause();
}

void kill_now(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace

TEST_CASE("a server runs with its environment and log, and its end is told with its code") {
  const Script script("echo answer $ANSWER\nread word </dev/stdin\nexit 3\n");
  server::SupervisedServer server(script.launch());
  const auto end = server.ended(std::chrono::seconds(20));
  REQUIRE(end);
  CHECK(*end == "it ended with exit code 3");
  CHECK(server.ended() == end);
  CHECK(text_of(script.log()) == "answer 42\n");
}

TEST_CASE("a program that cannot be started is told by its log") {
  const Script script("");
  server::Launch launch = script.launch();
  launch.words = {"/no/such/server", "x"};
  server::SupervisedServer server(launch);
  CHECK(server.ended(std::chrono::seconds(20)) == "it ended with exit code 127");
  CHECK_THAT(text_of(script.log()), Contains("cannot start /no/such/server: No such file"));
}

TEST_CASE("a server that is killed is told by the signal") {
  const Script script("echo $$ >ids\nsleep 1000\n");
  server::SupervisedServer server(script.launch());
  CHECK_FALSE(server.ended());
  ::kill(script.ids().at(0), SIGKILL);
  CHECK_THAT(server.ended(std::chrono::seconds(20)).value_or(""), Contains("signal 9"));
}

TEST_CASE("a server has time to end by itself") {
  const Script script(
      "trap 'echo ended well; exit 0' TERM\necho $$ >ids\nwhile :; do sleep 0.01; done\n");
  {
    server::Launch launch = script.launch();
    launch.grace = std::chrono::seconds(20);
    const server::SupervisedServer server(launch);
    REQUIRE(script.ids().size() == 1);
  }
  CHECK_THAT(text_of(script.log()), Contains("ended well"));
}

TEST_CASE("with a server all its descendants end, in other sessions and deaf to signals too") {
  const Script script(kFamily);
  std::vector<pid_t> ids;
  {
    const server::SupervisedServer server(script.launch());
    ids = script.ids();
    REQUIRE(ids.size() == 4);
  }
  CHECK(all_end(ids));
}

TEST_CASE("descendants of a server that died alone end as well") {
  const Script script(kFamily);
  server::SupervisedServer server(script.launch());
  const std::vector<pid_t> ids = script.ids();
  ::kill(ids.at(0), SIGKILL);
  CHECK(all_end(ids));
  CHECK(server.ended(std::chrono::seconds(20)));
}

TEST_CASE("a worker that is killed leaves no process of its server") {
  const Script script(kFamily);
  const pid_t worker = start_worker(script);
  const std::vector<pid_t> ids = script.ids();
  REQUIRE(ids.size() == 4);
  kill_now(worker);
  CHECK(all_end(ids));
}

TEST_CASE("a server ends with its supervisor, whose end is told") {
  const Script script("echo $$ >ids\nexec sleep 1000\n");
  server::SupervisedServer server(script.launch());
  const std::vector<pid_t> ids = script.ids();
  ::kill(server.supervisor(), SIGKILL);
  CHECK(server.ended(std::chrono::seconds(20)) ==
        "its supervisor was killed; processes of the server may still run");
  CHECK(all_end({ids.at(0)}));
}
