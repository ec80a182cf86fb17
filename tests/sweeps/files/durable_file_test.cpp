#include "sweeps/files/durable_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace sweep;

TEST_CASE("a published file is synced before it gets its name, and the name after", "[durable]") {
  class Journal : public FileOps {
   public:
    std::string done;
    void sync(const std::string&) override { done += "sync "; }
    void rename(const std::string& from, const std::string& to) override {
      done += "rename ";
      FileOps::rename(from, to);
    }
    void sync_folder(const std::string&) override { done += "sync-folder"; }
  } files;
  const support::TempDir folder;
  const std::string from = folder.write("a.tmp", "new"), to = folder.write("a", "old");
  publish(files, from, to);
  CHECK(files.done == "sync rename sync-folder");
  CHECK(file_bytes(to) == "new");
}

TEST_CASE("files are written and removed as bytes", "[durable]") {
  const support::TempDir folder;
  const std::string a = (folder.path() / "a").string(), b = (folder.path() / "b").string();
  FileOps files;
  const std::string bytes(200'000, '\0');
  files.write(a, bytes);
  files.sync(a);
  CHECK(file_bytes(a) == bytes);
  files.write(b, "short");
  CHECK(file_bytes(b) == "short");
  files.remove(a);
  files.remove(a);
  CHECK(names_in(folder.path().string()) == std::vector<std::string>{"b"});
  CHECK(names_in(a).empty());
}

TEST_CASE("a read that the system fails is told from a wrong path", "[durable]") {
  CHECK_THROWS_AS(file_bytes("/proc/self/mem"), ReadFailed);  // nothing is at its address 0
  try {
    file_bytes("/no/such/file");
    FAIL("nothing was thrown");
  } catch (const ReadFailed&) {
    FAIL("a wrong path is no failed read");
  } catch (const FileError& error) {
    CHECK(error.error_number == ENOENT);
  }
}

TEST_CASE("what the system refuses is named: what was tried, where, and why", "[durable]") {
  FileOps files;
  try {
    files.write("/no/such/folder/a", "x");
    FAIL("nothing was thrown");
  } catch (const FileError& error) {
    CHECK(std::string(error.what()) ==
          "cannot create /no/such/folder/a: No such file or directory");
    CHECK(error.error_number == ENOENT);
  }
  try {
    files.write("/dev/full", "x");
    FAIL("nothing was thrown");
  } catch (const FileError& error) {
    CHECK(std::string(error.what()) == "cannot write /dev/full: No space left on device");
    CHECK(error.error_number == ENOSPC);
  }
}
