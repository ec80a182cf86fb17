#pragma once
#include <string>
#include <vector>

namespace sweep {

/// What is wrong with an archive and the shards beside it, a sentence each; nothing when every
/// number in it is what a cell once found out. Looks from a process of its own, which HDF5 may
/// crash: texts of attributes lie in a heap without checksums. Call it from a process of one
/// thread. Throws FileError when there is no such file.
std::vector<std::string> check_archive(const std::string& path);

/// What keeps a run from going on with an archive: "" when it opens, its tables are described as
/// when they were written and every chunk is whole, or when nothing readable is at the path. Looks
/// from a process of its own, as check_archive() does.
std::string damage_in(const std::string& path);

/// Where two archives differ in anything but volatile columns and provenance, at most ten
/// sentences; nothing when they hold the same cells with the same results in the same order.
/// Throws ArchiveError when one cannot be read.
std::vector<std::string> archive_differences(const std::string& a, const std::string& b);

/// Writes to `target`, which must not exist, the cells of two archives of the same sweep file,
/// whichever is named first. Of two outcomes of a cell the better one stays: ok, then any other,
/// then none. Throws ArchiveError when both have a result of a cell and they differ.
void merge_archives(const std::string& a, const std::string& b, const std::string& target);

}  // namespace sweep
