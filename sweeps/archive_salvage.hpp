#pragma once
#include <string>
#include <vector>

namespace sweep {

/// What could be saved of a damaged archive.
struct Salvage {
  int saved = 0;                     // results in the new archive
  std::vector<std::string> sources;  // "a.h5: 70 results", one for each that gave any
  std::vector<std::string> lost;     // a sentence for each result that no source has whole, and
                                     // for each source that does not say what it had
};

/// Writes to `target`, which must not exist, every result that is whole in the archive `path`, in
/// what it was before ("<path>.prev") or in a shard beside it; the archive itself is only read. A
/// result is whole when its rows have their digest. Of what the archive says of a cell, whatever
/// is the first to be readable counts. Reads in processes of its own, which HDF5 may crash. Throws
/// ArchiveDamaged when nothing can be saved, ArchiveInUse beside a live driver, ArchiveWriteFailed,
/// and FileError when there is no such archive or the target exists.
Salvage salvage_archive(const std::string& path, const std::string& target);

}  // namespace sweep
