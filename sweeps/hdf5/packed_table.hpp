#pragma once
// Tables as one dataset of rows, which has fewer objects than a group of columns.
#include <string>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Writes a table in chunks of at most `chunk_rows`.
void write_packed_table(hid_t parent, const Table& table, std::size_t chunk_rows = 4096);
/// Reads it back; `threads` unpack.
Table read_packed_table(hid_t parent, const std::string& name, int threads = 1);
/// Whether the packed table has these rows, volatile columns aside; reads a chunk at a time.
bool packed_table_holds(hid_t parent, const Table& expected);

}  // namespace sweep
