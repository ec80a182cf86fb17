#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>

#include "analysis/trace/jsonl.hpp"
#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace analysis;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::system_error failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::system_error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  throw std::logic_error("unreachable");
}

/// No file of this process grows beyond `bytes` meanwhile, as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
    signal_before_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_before_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*signal_before_)(int);
};

}  // namespace

TEST_CASE("a trace is three files that hold what the streams get") {
  const support::TempDir folder;
  const sweep::CellResult cell = three_jobs().result();
  write_trace(cell, folder.path() / "cell-000");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"cell-000.events.jsonl",
                                                            "cell-000.requests.jsonl",
                                                            "cell-000.steps.jsonl"});
  std::ostringstream steps, events, requests;
  write_steps(cell, steps);
  write_events(cell, events);
  write_requests(cell, requests);
  CHECK(content(folder.path() / "cell-000.steps.jsonl") == steps.str());
  CHECK(content(folder.path() / "cell-000.events.jsonl") == events.str());
  CHECK(content(folder.path() / "cell-000.requests.jsonl") == requests.str());
}

TEST_CASE("a folder that is missing or no folder is named") {
  const support::TempDir folder;
  const fs::path missing = folder.path() / "missing" / "cell-000";
  const auto error = failure([&] { write_trace(three_jobs().result(), missing); });
  CHECK(error.code() == std::errc::no_such_file_or_directory);
  CHECK(std::string(error.what()) ==
        "cannot write " + missing.string() + ".steps.jsonl: No such file or directory");
  folder.write("plain", "");
  CHECK(failure([&] {
          write_trace(three_jobs().result(), folder.path() / "plain" / "cell-000");
        }).code() == std::errc::not_a_directory);
}

TEST_CASE("a trace that hits the end of the disk leaves nothing and keeps what was there") {
  const support::TempDir folder;
  folder.write("cell-000.steps.jsonl", "an earlier trace\n");
  const fs::path prefix = folder.path() / "cell-000";
  const auto error = failure([&] {
    const FileSizeLimit limit(1000);
    write_trace(three_jobs().result(), prefix);
  });
  CHECK(error.code() == std::errc::file_too_large);
  CHECK(std::string(error.what()).find(prefix.string() + ".steps.jsonl") != std::string::npos);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"cell-000.steps.jsonl"});
  CHECK(content(prefix.string() + ".steps.jsonl") == "an earlier trace\n");
}

TEST_CASE("tables that contradict each other leave no files") {
  const support::TempDir folder;
  HandMadeCell cell = three_jobs();
  cell.steps[4].n_running = 0;
  CHECK_THROWS_AS(write_trace(cell.result(), folder.path() / "cell-000"), std::logic_error);
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("a stream to a full device fails with the device's own reason") {
  std::ofstream full("/dev/full");
  if (!full) SKIP_TEST("there is no /dev/full");
  for (const auto write : {write_steps, write_events, write_requests}) {
    std::ofstream device("/dev/full");
    CHECK(failure([&] { write(three_jobs().result(), device); }).code() ==
          std::errc::no_space_on_device);
  }
}
