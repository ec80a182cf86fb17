#pragma once
// The layout of a column's values in a file and in packed memory.
#include <functional>
#include <span>
#include <vector>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Rows per chunk of a growing table.
inline constexpr hsize_t kChunkRows = 16384;

/// Length of the longest text in bytes, at least 1; 1 for numbers.
std::size_t text_width(const Column& column);

/// Stored type of one value: little-endian, as in memory. Texts are padded with zero bytes to
/// `width`.
H5Type stored_type(const Column& column, std::size_t width);

/// Some rows of a table that follow each other.
struct RowSlice {
  std::size_t first, count;
};

/// The values as they are stored, one after the other: those of the column, or, of texts, in
/// `packed`. Truncates texts longer than `width`.
std::span<const char> stored_values(const Column& column, RowSlice rows, std::size_t width,
                                    std::vector<char>& packed);
/// The inverse, for values of the type that `like` has, each of `width` bytes if they are texts:
/// `fill(place)` writes the stored ones there. Calls nothing of HDF5, nor does stored_values().
ColumnData values_from(const ColumnData& like, std::size_t width, std::size_t rows,
                       const std::function<void(char*)>& fill);
/// No values, of the type that this stored one is read as; `name` is for messages.
ColumnData data_of(hid_t type, const std::string& name);

/// Names of an enumeration's values; empty for other types.
std::vector<std::string> enum_names_of(hid_t type);

/// Creates a dataset of `rows` rows: shuffled, compressed, with a checksum per chunk and the
/// attributes unit, long_name and, if it applies, volatile. Unwritten rows read as NaN, 0 or an
/// empty text. Without `grows`, HDF5 needs no index of a single chunk.
H5Dataset create_column(hid_t group, const Column& column, hid_t type, hsize_t rows, hsize_t chunk,
                        bool grows = true);
H5Dataset open_column(hid_t group, const std::string& name);
/// Name, unit, long_name and enumeration of a stored column, without its rows.
Column describe_column(hid_t dataset, hid_t type, const std::string& name);

/// Layout with chunks of `chunk` rows: shuffled, compressed, with checksums.
H5Properties chunked_layout(hsize_t chunk);

hsize_t rows_of(hid_t dataset);
/// Sets the number of rows; new rows read as NaN, 0 or an empty text.
void resize(hid_t dataset, hsize_t rows);

/// Gives the `columns` of the group a common netCDF-4 dimension: a dataset `row` without data,
/// which the attribute DIMENSION_LIST of each column refers to.
void create_row_dimension(hid_t group, hsize_t rows, const std::vector<std::string>& columns);
/// Attaches one more column to that dimension.
void attach_row_dimension(hid_t group, hid_t column);

}  // namespace sweep
