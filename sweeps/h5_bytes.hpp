#pragma once
// Private to this folder: a file of HDF5 as bytes, for what the library does not check or refuses
// to read. Layouts are those of "HDF5 File Format Specification Version 3.0". Nothing here trusts a
// length or an address.
#include <cstdint>
#include <functional>

#include "sweeps/h5.hpp"
#include "sweeps/mapped_file.hpp"

namespace sweep {

/// A little-endian number; 0 for bytes beyond the end.
std::uint64_t number_at(FileBytes bytes, std::size_t at, std::size_t width);

/// Whether the last four bytes are the checksum of those before.
bool has_lookup3(FileBytes part);

/// Calls `use` with every message of the object header (version 2) at an address. Throws H5Error
/// when there is none that has its checksum.
void for_each_message(FileBytes file, std::uint64_t header,
                      const std::function<void(std::uint64_t type, FileBytes data)>& use);

/// Mends the superblock and object headers in which a single bit has flipped: their checksums tell
/// which. HDF5 opens nothing behind a header without its checksum. Returns how many it changed.
int mend_headers(FileBytes file);

/// Throws H5Error when a dataset's index of chunks (a B-tree of version 1, which has no checksums)
/// is not as HDF5 writes it. The library does not notice, and writing through one can crash it.
/// `file` is open, and `bytes` are its own.
void check_chunk_indices(hid_t file, FileBytes bytes);

}  // namespace sweep
