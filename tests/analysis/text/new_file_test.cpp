#include "analysis/text/new_file.hpp"

#include <sys/stat.h>

#include "sweeps/files/durable_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using analysis::write_file;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) {
  write_file(path, [&](std::ostream& out) { out << text; });
}

std::vector<std::string> names_in(const support::TempDir& folder) {
  return sweep::names_in(folder.path().string());
}

}  // namespace

TEST_CASE("a link that waits under a name beside the output is not followed", "[new_file]") {
  const support::TempDir folder;
  const std::string victim = folder.write("victim", "precious");
  for (const char* name : {"out.partial", "out.tmp"})
    fs::create_symlink(victim, folder.path() / name);
  write(folder.path() / "out", "result");
  CHECK(sweep::file_bytes((folder.path() / "out").string()) == "result");
  CHECK(sweep::file_bytes(victim) == "precious");
  CHECK(names_in(folder) == std::vector<std::string>{"out", "out.partial", "out.tmp", "victim"});
}

TEST_CASE("a link at the output's own name is replaced, and what it points to stays",
          "[new_file]") {
  const support::TempDir folder;
  const std::string victim = folder.write("victim", "precious");
  fs::create_symlink(victim, folder.path() / "out");
  write(folder.path() / "out", "result");
  CHECK(sweep::file_bytes(victim) == "precious");
  CHECK_FALSE(fs::is_symlink(folder.path() / "out"));
}

TEST_CASE("two files for one path have two names until they are written", "[new_file]") {
  const support::TempDir folder;
  write_file(folder.path() / "out", [&](std::ostream& first) {
    write_file(folder.path() / "out", [&](std::ostream& second) {
      CHECK(names_in(folder).size() == 2);
      second << 1;
    });
    first << 2;
  });
  CHECK(names_in(folder) == std::vector<std::string>{"out"});
  CHECK(sweep::file_bytes((folder.path() / "out").string()) == "2");
}

TEST_CASE("a file that is not finished disappears, and the existing one stays unchanged",
          "[new_file]") {
  const support::TempDir folder;
  folder.write("out", "before");
  CHECK_THROWS_WITH(write_file(folder.path() / "out",
                               [](std::ostream& out) {
                                 out << "half";
                                 throw std::runtime_error("no more");
                               }),
                    "no more");
  CHECK(names_in(folder) == std::vector<std::string>{"out"});
  CHECK(sweep::file_bytes((folder.path() / "out").string()) == "before");
}

TEST_CASE("a pipe and a folder are not replaced by a file", "[new_file]") {
  const support::TempDir folder;
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(write(pipe, ""), Contains("cannot write " + pipe.string()));
  CHECK_THROWS_WITH(write(folder.path(), ""), Contains("Is a directory"));
  CHECK_THROWS_WITH(write(folder.path() / "none" / "out", ""), Contains("No such file"));
  CHECK(fs::is_fifo(pipe));
}
