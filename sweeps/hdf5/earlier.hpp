#pragma once
// What programs before schema 2.1 wrote in shards: tables as datasets of rows in a file of HDF5.
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// The tables in the bytes of such a file; `name` is for messages. Throws H5Error.
std::vector<Table> earlier_tables(std::string_view bytes, const std::string& name);

}  // namespace sweep
