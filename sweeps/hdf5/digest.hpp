#pragma once
// Digests and checksums of a file below the level of tables.
#include <string>
#include <string_view>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// SHA-256 of everything in a file except the chunks of its datasets: names, types, shapes, stored
/// sizes, attributes, and values of datasets without chunks. Reads no chunk, so that it is cheap
/// for an archive of any size; that none skips a filter is left to check_chunk_indices(). Skips the
/// object `left_out` of the root. No dataset may be open for writing.
std::string objects_digest(hid_t file, std::string_view left_out);

/// Compares every chunk of the file with its checksum. Throws H5Error, which names the first
/// dataset with a chunk that differs or cannot be read.
void check_chunks(hid_t file);

/// Repairs single-bit errors in chunks of a file that is open for writing; the checksum identifies
/// the bit. A chunk with more damage may be changed to wrong contents, so verify the result by
/// another digest. Returns the number of chunks it changed. Throws H5Error.
int repair_chunks(hid_t file);

}  // namespace sweep
