#pragma once
// What programs before schema 2.1 wrote: tables as datasets of rows in files of HDF5. The footer of
// an archive is one still.
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// A dataset of rows. Throws H5Error.
Table read_rows(hid_t parent, const std::string& name);

/// All of them in the bytes of a file; `name` is for messages.
std::vector<Table> earlier_tables(std::string_view bytes, const std::string& name);

}  // namespace sweep
