#pragma once
// Private to this folder: how the values of a column lie in a file and in packed memory.
#include <span>

#include "sweeps/h5.hpp"

namespace sweep {

/// Rows of a chunk of a table that grows.
inline constexpr hsize_t kChunkRows = 16384;

/// Bytes of the longest text, at least 1; 1 for numbers.
std::size_t text_width(const Column& column);

/// Type of one value as it is stored; little-endian, which is also how it lies in memory. Texts
/// are padded with zero bytes to `width`.
H5Type stored_type(const Column& column, std::size_t width);

/// Copies the values to out, out + stride, ...; texts longer than `width` are cut.
void put_values(const Column& column, std::size_t width, char* out, std::size_t stride);
/// The other way, for `rows` values of this stored type.
ColumnData take_values(hid_t type, const char* bytes, std::size_t rows, std::size_t stride,
                       const std::string& name);

/// Names of an enumeration's values, none for other types.
std::vector<std::string> enum_names_of(hid_t type);

/// A dataset of `rows` rows that can grow: shuffled, compressed, with a checksum for every chunk
/// and the attributes unit, long_name and, where it holds, volatile. Rows not written read as
/// "nothing": NaN, 0 or an empty text.
H5Dataset create_column(hid_t group, const Column& column, hid_t type, hsize_t rows, hsize_t chunk);
H5Dataset open_column(hid_t group, const std::string& name);
/// Name, unit, meaning and enumeration of a stored column, without its rows.
Column describe_column(hid_t dataset, hid_t type, const std::string& name);

/// Layout of chunks of `chunk` rows: shuffled, compressed, check-summed.
H5Properties chunked_layout(hsize_t chunk);

hsize_t rows_of(hid_t dataset);
/// Packed values [offset, offset + rows); `name` is for messages.
std::vector<char> read_bytes(hid_t dataset, hid_t type, hsize_t offset, hsize_t rows,
                             const std::string& name);
void write_bytes(hid_t dataset, hid_t type, hsize_t offset, hsize_t rows, const char* bytes,
                 const std::string& name);
/// Sets the number of rows; new ones hold nothing.
void resize(hid_t dataset, hsize_t rows);

/// Makes `columns` of the group share one netCDF-4 dimension: a dataset `row` without data that
/// each of them names in its attribute DIMENSION_LIST.
void create_row_dimension(hid_t group, hsize_t rows, const std::vector<std::string>& columns);
/// Makes one more column share it.
void attach_row_dimension(hid_t group, hid_t column);

}  // namespace sweep
