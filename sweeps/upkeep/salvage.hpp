#pragma once
#include <string>
#include <vector>

namespace sweep {

/// Results that salvage_archive() saved of a damaged archive.
struct Salvage {
  int saved = 0;                     // results in the new archive
  std::vector<std::string> sources;  // "a.h5: 70 results", one for each source with results
  std::vector<std::string> lost;     // a sentence for each result that no source has intact, and
                                     // for each file that cannot be read, e.g. a newer program's
};

/// Writes every intact result to `target`, which must not exist. Sources are the archive `path`,
/// its previous version "<path>.prev", and the shards beside it; all are only read. A result is
/// intact when its rows match their digest. The first readable record of a cell counts. Throws
/// ArchiveDamaged when nothing can be saved, ArchiveInUse while a driver has the archive open,
/// ArchiveWriteFailed, and FileError when there is no such archive or the target exists.
Salvage salvage_archive(const std::string& path, const std::string& target);

}  // namespace sweep
