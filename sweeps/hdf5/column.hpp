#pragma once
// Columns as datasets of HDF5. Their chunks are packed and unpacked by this program: the same bytes
// that the library's filters write and read, without their cost.
#include <string>
#include <vector>

#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

/// Rows per chunk of a growing table.
inline constexpr hsize_t kChunkRows = 16384;

/// A column with values of this stored type, without rows. Throws H5Error if no table has such.
Column description_of(hid_t type, const std::string& name);

/// Creates a dataset of `rows` rows: shuffled, compressed, with a checksum per chunk and the
/// attributes unit, long_name and, if it applies, volatile. Unwritten rows read as NaN, 0 or an
/// empty text. Without `grows`, HDF5 needs no index of a single chunk.
H5Dataset create_column(hid_t group, const Column& column, std::size_t width, hsize_t rows,
                        hsize_t chunk, bool grows = true);
/// Stores the chunk that begins at a row, which the dataset must have. `name` is for messages.
void write_chunk(hid_t dataset, hsize_t row, const StoredChunk& chunk, const std::string& name);
/// Sets the number of rows; new rows read as NaN, 0 or an empty text.
void resize(hid_t dataset, hsize_t rows);
/// A column of a table in a file that must stay open. Throws H5Error, also if the dataset has other
/// filters than create_column()'s.
StoredColumn stored_column(hid_t table, const std::string& name);

hsize_t rows_of(hid_t dataset);

}  // namespace sweep
