#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sweeps/archive/shard.hpp"
#include "sweeps/commits/archive.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/shared.hpp"

/// Cells with results that follow from their number, and an archive of them in a folder of its own.
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
  /// Cells with a result at the level of `options`, by number.
  std::vector<int> done() const;

  sweep::ArchiveOptions options;
  std::vector<std::string> warnings;
  std::vector<sweep::CellRecord> plan;
  sweep::FileOps* files;
  std::string variant;  // changes what cells find out, not what they are
  sweep::RecordLevel level = sweep::RecordLevel::all;  // of the results

 private:
  support::TempDir folder_;
  sweep::FileOps real_;
  int steps_per_cell_;
  std::unique_ptr<sweep::Archive> archive_;
};

inline std::vector<std::string> archive_differences(
    const std::string& a, const std::string& b, sweep::Compared what = sweep::Compared::results) {
  return sweep::compare_archives(a, b, what).differences;
}

/// Calls `before(operation)` ahead of every change, and does not wait for the disk.
class WatchedFiles : public sweep::FileOps {
 public:
  std::function<void(int operation)> before = [](int) {};
  int operations = 0;

  void write(const std::string& path, std::string_view bytes) override {
    step();
    sweep::FileOps::write(path, bytes);
  }
  void sync(const std::string&) override { step(); }
  void rename(const std::string& from, const std::string& to) override {
    step();
    sweep::FileOps::rename(from, to);
  }
  bool link(const std::string& from, const std::string& to) override {
    step();
    return FileOps::link(from, to);
  }
  void remove(const std::string& path) override {
    step();
    sweep::FileOps::remove(path);
  }
  void sync_folder(const std::string&) override { step(); }

 protected:
  void step() { before(++operations); }
};

/// Opens an archive as another program would that changes it.
inline sweep::H5File open_h5_for_writing(const std::string& path) {
  return {H5Fopen(path.c_str(), H5F_ACC_RDWR, sweep::h5_access().get()), "open " + path};
}

/// Runs `action` in a process of its own, which may be killed; returns what it acknowledged.
std::set<int> acknowledged_by(const std::function<void(const std::function<void(int)>&)>& action,
                              int& status);

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
