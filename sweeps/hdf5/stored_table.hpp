#pragma once
// Tables as groups of 1-D datasets, one a column.
#include <string>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Writes a table as the group `table.name` of 1-D datasets, one per column, compressed, with
/// checksums and the attributes unit, long_name and, if it applies, volatile. The group's attribute
/// `columns` keeps their order.
void write_table(hid_t parent, const Table& table);
/// Reads a table back. Throws H5Error when it is missing or damaged.
Table read_table(hid_t parent, const std::string& name);

}  // namespace sweep
