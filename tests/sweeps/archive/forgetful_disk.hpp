#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sweeps/archive/archive_world.hpp"

/// A disk that forgets, when the power fails, what it was not told to keep: bytes of files that
/// were not synced, renames and removals in folders that were not.
class ForgetfulDisk : public WatchedFiles {
 public:
  explicit ForgetfulDisk(std::string backups) : backups_(std::move(backups)) {}

  void write(const std::string& path, std::string_view bytes) override {
    WatchedFiles::write(path, bytes);
    synced_.erase(path);
  }
  void sync(const std::string& path) override {
    WatchedFiles::sync(path);
    synced_.insert(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    const std::string backup = keep(to);
    WatchedFiles::rename(from, to);
    pending_.push_back({from, to, backup, synced_.count(to) > 0});
    if (synced_.erase(from) > 0) {
      synced_.insert(to);
    } else {
      synced_.erase(to);
    }
  }
  bool link(const std::string& from, const std::string& to) override {
    if (synced_.count(from) > 0) synced_.insert(to);
    return WatchedFiles::link(from, to);
  }
  void remove(const std::string& path) override {
    const std::string backup = keep(path);
    WatchedFiles::remove(path);
    if (!backup.empty()) pending_.push_back({"", path, backup, synced_.count(path) > 0});
  }
  void sync_folder(const std::string& folder) override {
    WatchedFiles::sync_folder(folder);
    std::erase_if(pending_,
                  [&](const Change& change) { return sweep::folder_of(change.to) == folder; });
  }

  void cut_power(const std::string& archive) {
    for (auto change = pending_.rbegin(); change != pending_.rend(); ++change) undo(*change);
    std::vector<std::string> files = {archive};
    for (const std::string& name : sweep::names_in(archive + ".d"))
      files.push_back(archive + ".d/" + name);
    for (const std::string& file : files) {
      if (synced_.count(file) > 0 || !std::filesystem::exists(file)) continue;
      std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
    }
  }

 private:
  struct Change {
    std::string from, to;  // from is empty for a removal
    std::string backup;    // of what was at `to`; empty: nothing was
    bool backup_synced;
  };

  std::string keep(const std::string& path) {
    if (!std::filesystem::exists(path)) return "";
    const std::string backup = backups_ + "/backup" + std::to_string(count_++);
    std::filesystem::create_hard_link(path, backup);
    return backup;
  }
  void undo(const Change& change) {
    if (!change.from.empty()) {
      std::filesystem::create_directories(sweep::folder_of(change.from));
      std::filesystem::rename(change.to, change.from);
      if (synced_.erase(change.to) > 0) synced_.insert(change.from);
    }
    if (change.backup.empty()) return;
    std::filesystem::create_directories(sweep::folder_of(change.to));
    std::filesystem::rename(change.backup, change.to);
    if (change.backup_synced) synced_.insert(change.to);
  }

  std::string backups_;
  int count_ = 0;
  std::set<std::string> synced_;
  std::vector<Change> pending_;
};

/// Thrown ahead of a change, in place of the power that fails.
struct PowerCut {};
