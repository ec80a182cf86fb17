#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sweeps/archive/archive.hpp"
#include "sweeps/archive/shard.hpp"
#include "tests/support/shared.hpp"

/// Cells whose results follow from their number, and an archive of them in a folder of its own.
class ArchiveWorld {
 public:
  explicit ArchiveWorld(int cells, int steps_per_cell = 20);

  /// Opens (or creates) the archive; closes the one that was open first.
  sweep::Archive& open(sweep::OpenMode mode = sweep::OpenMode::resume_or_create);
  void close() { archive_.reset(); }
  sweep::Archive& archive() { return *archive_; }
  void commit(int cell) { archive_->commit(key(cell), bytes(cell)); }
  void run_all(const std::vector<int>& order);

  sweep::CellRecord planned(int cell) const;
  sweep::ShardContents result(int cell) const;
  std::string bytes(int cell) const;
  std::string bytes(const std::vector<int>& cells) const;
  std::string key(int cell) const;
  std::vector<std::string> keys(const std::vector<int>& cells) const;
  std::string path() const { return (folder_.path() / "results.h5").string(); }
  std::string spool() const { return path() + ".d"; }
  std::string shard(int cell) const { return spool() + "/" + key(cell) + ".h5"; }
  std::string scratch() const { return folder_.path().string(); }
  /// Cells whose status is ok, by number.
  std::vector<int> done() const;

  sweep::ArchiveOptions options;
  std::vector<std::string> warnings;
  std::vector<sweep::CellRecord> plan;
  sweep::FileOps* files;
  std::string variant;  // changes what cells find out, not what they are

 private:
  support::TempDir folder_;
  sweep::FileOps real_;
  int steps_per_cell_;
  std::unique_ptr<sweep::Archive> archive_;
};

/// What an error of this type says; "no error" when there is none.
template <class Error, class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
