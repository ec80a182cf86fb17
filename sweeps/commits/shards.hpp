#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sweeps/files/durable_file.hpp"

namespace sweep {

/// Told what was set aside, and why.
using Warn = std::function<void(const std::string&)>;

/// The shards of an archive: files "<key>.h5" in its folder, with results that are committed and
/// not merged. Each cell has a name of its own, so that it is found, merged and set aside alone.
class Shards {
 public:
  Shards(std::string archive, FileOps& files, Warn warn)
      : archive_(std::move(archive)), files_(files), warn_(std::move(warn)) {}
  std::string path(const std::string& key) const;
  /// Cells that have one.
  std::vector<std::string> keys() const;
  /// Makes the bytes durable as the shard of these cells, which share a file.
  void publish(std::span<const std::string> keys, const std::string& bytes);
  void remove(const std::string& key) { files_.remove(path(key)); }
  void set_aside(const std::string& key, const std::string& why) { set_file_aside(path(key), why); }
  /// Renames a file to "<file>.damaged".
  void set_file_aside(const std::string& file, const std::string& why);
  /// Bytes of the files that hold these cells.
  std::uint64_t bytes_of(std::span<const std::string> keys) const;
  /// Bytes of the largest.
  std::uint64_t largest() const;

 private:
  std::string archive_;
  FileOps& files_;
  Warn warn_;
};

}  // namespace sweep
