#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sweep {

/// Returns the problems of an archive and the shards beside it, a sentence each; empty if every
/// stored number is as its cell recorded it. Reads in a child process: HDF5 may crash on damaged
/// texts of attributes, which are in a heap without checksums. The caller must have a single
/// thread. Throws FileError when there is no such file.
std::vector<std::string> check_archive(const std::string& path);

/// Returns the damage that keeps a run from resuming an archive. "" if the archive opens, its
/// tables are described as written and every chunk is whole, or if nothing readable is at the path.
/// Reads in a child process, as check_archive() does.
std::string damage_in(const std::string& path);

/// What archive_differences() compares: all results; or what does not depend on time, which is
/// cells with status and notes, and what each job and turn asked and was answered, row by row of
/// the same turn.
enum class Compared : std::uint8_t { results, but_times };

/// Returns the differences between two archives, ignoring volatile columns and provenance, at most
/// ten sentences. Empty if they hold the same cells with the same results in the same order. Throws
/// ArchiveError when one cannot be read.
std::vector<std::string> archive_differences(const std::string& a, const std::string& b,
                                             Compared what = Compared::results);

/// Writes the cells of two archives of the same sweep file to `target`, which must not exist. The
/// order of the two does not matter. Of two outcomes of a cell the better one is kept: ok, then any
/// other, then none. Throws ArchiveError when both have a result of a cell and they differ.
void merge_archives(const std::string& a, const std::string& b, const std::string& target);

/// Writes the cells of an archive to `target`, which must not exist, with the rows of their jobs
/// and turns alone: what tables, comparisons and most claims need, at about a third of the bytes. A
/// cell's note `summary_of` is the digest of its whole result. Throws ArchiveError.
void write_summary(const std::string& archive, const std::string& target);

}  // namespace sweep
