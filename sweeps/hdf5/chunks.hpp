#pragma once
// Whole chunks of datasets, packed by this program instead of HDF5's filters. Both write the same
// format.
#include <optional>
#include <span>
#include <vector>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// What packing a chunk of a dataset takes.
struct ChunkShape {
  hsize_t rows;            // of a chunk
  std::size_t row_bytes;   // of a value, or of a packed row
  std::vector<char> fill;  // a row that was never written
  std::size_t bytes() const { return rows * row_bytes; }
};

/// Throws H5Error unless the dataset has one dimension, and the filters shuffle, deflate and
/// fletcher32 alone, in this order.
ChunkShape chunk_shape(hid_t dataset, hid_t type);

/// A chunk as it is stored.
using StoredChunk = std::vector<unsigned char>;

/// Packs `rows.size() / row_bytes` rows; the chunk's others have the fill value. Calls nothing of
/// HDF5, so several threads can pack.
StoredChunk pack_chunk(const ChunkShape& shape, std::span<const char> rows);
/// Stores the chunk that begins at a row, which the dataset must have. `name` is for messages.
void write_chunk(hid_t dataset, hsize_t row, const StoredChunk& chunk, const std::string& name);

/// The chunk at these coordinates; empty if it was never written. Throws H5Error.
std::optional<StoredChunk> read_chunk(hid_t dataset, const hsize_t* offset,
                                      const std::string& name);

/// Writes the stored values [offset, offset + rows), which `threads` unpack, to `out`. Throws
/// H5Error if a chunk cannot be read or does not have its checksum.
void read_rows(hid_t dataset, hid_t type, hsize_t offset, hsize_t rows, char* out,
               const std::string& name, int threads = 1);

/// Compares every chunk of the file with its checksum. Throws H5Error, which names the first
/// dataset with a chunk that differs or cannot be read.
void check_chunks(hid_t file);

}  // namespace sweep
