#include "analysis/text/new_file.hpp"

#include <sys/stat.h>

#include "sweeps/files/durable_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using analysis::NewFile;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) {
  NewFile file(path);
  file.fill([&](std::ostream& out) { out << text; });
  file.commit();
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

TEST_CASE("two files for one path have two names until they are committed", "[new_file]") {
  const support::TempDir folder;
  NewFile first(folder.path() / "out"), second(folder.path() / "out");
  CHECK(names_in(folder).size() == 2);
  first.fill([](std::ostream& out) { out << 1; });
  second.fill([](std::ostream& out) { out << 2; });
  first.commit();
  second.commit();
  CHECK(names_in(folder) == std::vector<std::string>{"out"});
  CHECK(sweep::file_bytes((folder.path() / "out").string()) == "2");
}

TEST_CASE("a file that is not committed disappears, and the existing one stays unchanged",
          "[new_file]") {
  const support::TempDir folder;
  folder.write("out", "before");
  {
    NewFile(folder.path() / "out").fill([](std::ostream& out) { out << "half"; });
  }
  CHECK(names_in(folder) == std::vector<std::string>{"out"});
  CHECK(sweep::file_bytes((folder.path() / "out").string()) == "before");
}

TEST_CASE("a pipe and a folder are not replaced by a file", "[new_file]") {
  const support::TempDir folder;
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(NewFile(pipe), Contains("cannot write " + pipe.string()));
  CHECK_THROWS_WITH(NewFile(folder.path()), Contains("Is a directory"));
  CHECK_THROWS_WITH(NewFile(folder.path() / "none" / "out"), Contains("No such file"));
  CHECK(fs::is_fifo(pipe));
}
