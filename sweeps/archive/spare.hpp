#pragma once
// The spare copy behind the HDF5 file of an archive: everything but the chunks of its tables, and
// what finds those. HDF5 refuses what is damaged, and of a column's header that is every row of the
// column; with the spare copy, damage outside chunks costs nothing. A program that changes the
// archive by HDF5 cuts it off.
#include <string>
#include <vector>

#include "sweeps/archive/stored_cells.hpp"

namespace sweep {

/// A chunk of a table: its size, 0 if it was never written, and the Fletcher checksum at its end.
struct SpareChunk {
  std::size_t bytes = 0;
  std::uint32_t sum = 0;
};

/// The tables of rows of cells as they are stored, one column's numbers after the other's.
struct SpareLayout {
  std::vector<Table> tables;                  // without rows
  std::vector<std::size_t> rows, chunk_rows;  // of each table
  std::vector<std::size_t> widths;            // bytes of a value of each column
  std::vector<SpareChunk> chunks;             // of each column
};

/// Adds the copy to a closed file with these tables. Throws FileError.
void append_spare(const std::string& path, const ArchiveIndex& index, const SpareLayout& layout);

/// The problem of the spare copy of a file; empty if it is whole. Archives of schema 1 have
/// none.
std::string spare_problem(const std::string& path);

/// The cells of a damaged archive, by its spare copy and the chunks in its bytes, wherever they
/// are. Throws H5Error if a part of the spare copy is lost in both of its places, or there is none.
StoredCells read_spare(const std::string& path);

}  // namespace sweep
