#pragma once
// The names and marks of what an archive is made of. For example, while the cell 2c...e1 runs and
// 1b...07 waits for a merge:
//
//   results.h5               an HDF5 file, and behind it its spare copy (sweeps/files/twofold.hpp)
//   results.h5.prev          what it was before its last change
//   results.h5.d/lock        the driver: "node-1\n4711\n\n", its host, process id and SLURM job
//   results.h5.d/1b...07.h5  a shard, by its first cell: sweeps/hdf5/packed_tables.hpp, and behind
//                            it "\nkvsweep shard sha256 ", 64 hex digits of that, a line end
//   results.h5.d/2c...e1.run a mark: "attempt=1\ndeaths=0\nhost=node-1\npid=4711\nphase=running\n
//                            drives=1\nstart=8213\n" and "with=KEY\n" of cells beside it, behind
//                            which "stopped=1\n", "by=KEY\n" and "died=signal 11\n" may come
//   results.h5.d/5f...2a.prov a row of /provenance, as a shard has tables
//   results.h5.d/*.tmp       unfinished; the next driver removes it
//
// What finds damage, and what each finds that the others do not:
//
//   checksums of HDF5      damaged headers and indices, by any program
//   Fletcher's of a chunk  damaged rows, by any program
//   spec_sha256            a damaged sweep file, which is in no chunk
//   cells_sha256           /cells as another program or run wrote it, with right checksums
//   a cell's key           a configuration that is not the result's
//   a cell's digest        rows of another cell or run, in whole chunks
//   a shard's last line    what changed since the worker; its description has no other
//   pieces of the copy     which of the two copies of a piece is whole
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sweep {

/// The attribute `format` of an archive, and the name of that with the digest of its /cells.
inline constexpr std::string_view kArchiveFormat = "kvsweep";
inline constexpr const char* kCellsDigest = "cells_sha256";
/// The major increases when a name, a meaning or a way of storing changes, the minor when something
/// is added. Of this major, minors below the least are not read.
inline constexpr std::int64_t kSchemaMajor = 2, kSchemaMinor = 4, kLeastMinor = 2;

/// Ends of file names in the folder, behind a SHA-256 in hex of a cell's configuration or the row.
inline constexpr std::string_view kShardEnd = ".h5", kMarkEnd = ".run", kDescriptionEnd = ".prov";

/// The last line of a shard and of a row.
inline constexpr std::string_view kTrailerStart = "\nkvsweep shard sha256 ";
inline constexpr std::size_t kHexDigits = 64, kTrailerBytes = kTrailerStart.size() + kHexDigits + 1;
static_assert(kTrailerBytes == 87);

}  // namespace sweep
