#pragma once
// Writes archive files: the only way in which one comes to be.
#include <cstddef>
#include <functional>
#include <string>

#include "sweeps/archive/index.hpp"

namespace sweep {

/// Rows of a cell in a table, by its position in kCellTables; called for one after the other in
/// which its record has rows. Empty: the cell has none.
using RowsOfCell = std::function<Table(std::size_t table)>;

/// Writes a new file with the cells of an index, one after the other, and sets their row ranges.
/// `rows_of` may change the cell's outcome; `threads` pack columns. Throws H5Error, also when the
/// path exists, and FileError; then the file is no archive.
void write_archive(const std::string& path, ArchiveIndex& index,
                   const std::function<RowsOfCell(CellRecord& cell)>& rows_of, int threads = 1);

}  // namespace sweep
