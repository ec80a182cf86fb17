#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sweeps/archive/reader.hpp"

namespace sweep {

/// Returns the problems of an archive and the shards beside it, a sentence each; empty if every
/// stored number is as its cell recorded it. Throws FileError when there is no such file.
std::vector<std::string> check_archive(const std::string& path);

/// The comparison of two archives: all results; or what does not depend on time, which is cells
/// with status and notes, and what each job and turn asked and was answered, row by row of the same
/// turn.
enum class Compared : std::uint8_t { results, but_times };

/// Two archives beside each other, ignoring volatile columns and provenance. Of a cell at two
/// levels the tables that both have are compared. Where one has further cells, or the second has
/// run some that the first has not, those that the other has run are compared, wherever they are.
struct ArchiveComparison {
  /// At most ten sentences. Empty if they hold the same cells with the same results in the same
  /// order, apart from further cells.
  std::vector<std::string> differences;
  int at_two_levels = 0;  // cells
  int in_both = 0;        // cells that were compared
  int in_one = 0;         // further cells
};

/// Throws ArchiveError when one cannot be read.
ArchiveComparison compare_archives(const std::string& a, const std::string& b,
                                   Compared what = Compared::results);

/// Writes the cells of two archives of the same sweep file to `target`, which must not exist. The
/// order of the two does not matter. Of two outcomes of a cell the better one is kept: ok, then any
/// other, then none; of two results the one at the higher level. Throws ArchiveError when both have
/// a result of a cell and what both store of it differs.
void merge_archives(const std::string& a, const std::string& b, const std::string& target);

/// Figures that follow from tables of a cell, by its row, and that its record lacks.
using FurtherFigures = std::function<std::vector<Figure>(ArchiveReader& archive, int row)>;

/// Writes the cells of an archive to `target`, which must not exist, with the tables of this level
/// alone, as if they had been recorded at it. A cell that loses tables gets the further figures.
/// Throws ArchiveError.
void write_at_level(const std::string& archive, RecordLevel level, const std::string& target,
                    const FurtherFigures& further = {});

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
