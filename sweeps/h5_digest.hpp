#pragma once
// Private to this folder: whether a file is what was written, below the level of tables.
#include <string>
#include <string_view>

#include "sweeps/h5.hpp"

namespace sweep {

/// SHA-256 of all that a file holds beside the chunks of its datasets: names, types, shapes, stored
/// sizes, attributes, and values of datasets without chunks. The object `left_out` of the root does
/// not count. No dataset may be open for writing.
std::string objects_digest(hid_t file, std::string_view left_out);

/// Compares every chunk of the file with its checksum. Throws H5Error naming the first dataset with
/// a chunk that differs or cannot be read.
void check_chunks(hid_t file);

/// Mends chunks of a file that is open for writing in which a single bit has flipped: the checksum
/// tells which. What it makes of chunks with more damage is not what they were, so other digests
/// have the last word. Returns how many chunks it changed. Throws H5Error.
int mend_chunks(hid_t file);

}  // namespace sweep
