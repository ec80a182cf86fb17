#pragma once
// Tables as groups of 1-D datasets, one a column. Their chunks are packed and unpacked by this
// program: the same bytes that the library's filters write and read, without their cost.
#include <span>
#include <string>
#include <vector>

#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

/// Creates a dataset of `rows` rows: shuffled, compressed, with a checksum per chunk and the
/// attributes unit, long_name and, if it applies, volatile. Unwritten rows read as NaN, 0 or an
/// empty text. Without `grows`, HDF5 needs no index of a single chunk.
H5Dataset create_column(hid_t group, const Column& column, std::size_t width, hsize_t rows,
                        hsize_t chunk, bool grows = true);
/// Stores chunks of so many rows from the row `first` on, which the dataset must have. `name` is
/// for messages.
void write_chunks(hid_t dataset, hsize_t first, hsize_t chunk_rows,
                  std::span<const std::string> chunks, const std::string& name);
/// Sets the number of rows; new rows read as NaN, 0 or an empty text.
void resize(hid_t dataset, hsize_t rows);
/// A column of a table in a file that must stay open. Throws H5Error, also if the dataset has other
/// filters than create_column()'s.
StoredColumn stored_column(hid_t table, const std::string& name);

/// Writes a table as the group `table.name` of such datasets.
void write_table(hid_t parent, const Table& table);
/// Makes a group of columns a table: its attribute `columns` keeps their order, and they have
/// a common netCDF-4 dimension, a dataset `row` without data, which the attribute DIMENSION_LIST of
/// each column refers to.
void finish_table(hid_t group, hsize_t rows, const std::vector<std::string>& columns);

/// A table in a file, which must stay open. Throws H5Error when it is missing.
StoredTable stored_table(hid_t parent, const std::string& name, int threads = 1);
/// Reads a whole table. Throws H5Error when it is missing or damaged.
Table read_table(hid_t parent, const std::string& name);

}  // namespace sweep
