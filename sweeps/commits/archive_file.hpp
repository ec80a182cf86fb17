#pragma once
#include <functional>
#include <string>
#include <utility>

#include "sweeps/files/durable_file.hpp"

namespace sweep {

/// Told what was set aside, and why.
using Warn = std::function<void(const std::string&)>;

/// The file at an archive's path as this process left it. Other programs may replace it without
/// taking the lock, and then it is not touched.
class ArchiveFile {
 public:
  ArchiveFile(std::string path, FileOps& files, Warn warn)
      : path_(std::move(path)), files_(files), warn_(std::move(warn)) {}
  /// Takes what is at the path now for the file that this process left there.
  void look() { left_ = identity_of(path_); }
  bool is_there() const { return left_ != FileIdentity{}; }
  /// Throws ArchiveIncompatible, with `more` at the end, if another file is at the path.
  void check_is_ours(const std::string& more) const;
  /// Throws ArchiveDamaged if one of its chunks is damaged: a failed copy is then its fault, not
  /// that of the disk.
  void check_chunks() const;
  /// Renames the finished file over the archive. If `keep_previous`, the old one becomes
  /// "<path>.prev"; without hard links it is lost, with one warning. Call look() next.
  void replace(const std::string& finished, bool keep_previous);
  /// Renames the archive, its .prev and its folder's files, except the lock, to "<path>.old1" or
  /// the next free number.
  void move_aside();

 private:
  std::string path_;
  FileOps& files_;
  Warn warn_;
  bool has_links_ = true;
  FileIdentity left_;
};

}  // namespace sweep
