#pragma once
// Tables as groups of 1-D datasets, one a column.
#include <string>
#include <vector>

#include "sweeps/hdf5/column.hpp"

namespace sweep {

/// Writes a table as the group `table.name` of 1-D datasets, one per column, compressed, with
/// checksums and the attributes unit, long_name and, if it applies, volatile.
void write_table(hid_t parent, const Table& table);
/// What makes a group of columns a table: its attribute `columns` keeps their order, and they have
/// a common netCDF-4 dimension, a dataset `row` without data, which the attribute DIMENSION_LIST of
/// each column refers to.
void finish_table(hid_t group, hsize_t rows, const std::vector<std::string>& columns);

/// A table in a file, which must stay open. Throws H5Error when it is missing.
StoredTable stored_table(hid_t parent, const std::string& name, int threads = 1);
/// Reads a whole table. Throws H5Error when it is missing or damaged.
Table read_table(hid_t parent, const std::string& name);

}  // namespace sweep
