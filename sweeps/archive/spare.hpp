#pragma once
// The spare copy behind the HDF5 file of an archive: everything but the chunks of its tables, and
// what finds those. HDF5 refuses what is damaged, and of a column's header that is every row of the
// column; with the spare copy, damage outside chunks costs nothing. A program that changes the
// archive by HDF5 cuts it off.
#include <string>
#include <vector>

#include "sweeps/archive/index.hpp"
#include "sweeps/archive/stored_cells.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// What identifies a stored chunk: its bytes end with their Fletcher checksum.
struct ChunkSum {
  std::int64_t bytes = 0, sum = 0;
};

/// A table of rows of cells as it is stored.
struct SpareTable {
  Table described;  // without rows
  std::int64_t rows = 0, chunk_rows = 1;
  std::vector<std::int64_t> widths;           // bytes of a value of each column
  std::vector<std::vector<ChunkSum>> chunks;  // of each column
};

/// Adds the copy to a closed file with these tables. Throws FileError.
void append_spare(const std::string& path, const ArchiveIndex& index,
                  const std::vector<SpareTable>& tables);

/// What is wrong with the spare copy of an open file; empty if it is whole. Archives of schema 1
/// have none.
std::string spare_problem(hid_t file);

/// The cells of a damaged archive, by its spare copy and the chunks in its bytes, wherever they
/// are. Throws H5Error if a part of the spare copy is lost in both of its places, or there is none.
StoredCells read_spare(const std::string& path);

}  // namespace sweep
