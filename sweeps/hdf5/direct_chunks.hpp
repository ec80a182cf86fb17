#pragma once
// Whole chunks of datasets, packed by this program instead of HDF5's filters. Both write the same
// format, and the library reads and writes whatever this cannot.
#include <cstdint>
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

/// Empty unless the dataset has one dimension, and the filters shuffle, deflate and fletcher32
/// alone, in this order.
std::optional<ChunkShape> chunk_shape(hid_t dataset, hid_t type);

/// A chunk as it is stored.
using StoredChunk = std::vector<unsigned char>;

/// Packs `rows.size() / row_bytes` rows; the chunk's others have the fill value. Calls nothing of
/// HDF5, so several threads can pack.
StoredChunk pack_chunk(const ChunkShape& shape, std::span<const char> rows);
/// Stores the chunk that begins at a row, which the dataset must have. `name` is for messages.
void write_chunk(hid_t dataset, hsize_t row, const StoredChunk& chunk, const std::string& name);

/// Packs and stores rows from the start of a chunk on.
void write_chunks(hid_t dataset, const ChunkShape& shape, hsize_t offset,
                  std::span<const char> rows, const std::string& name);

/// A chunk as it is stored, and which of its filters were skipped.
struct RawChunk {
  StoredChunk bytes;
  std::uint32_t skipped_filters = 0;
};

/// The bytes of the chunk at these coordinates by the index of chunks alone; 0 if it was never
/// written. Throws H5Error, also for more bytes than the file has, as a damaged index says.
hsize_t stored_bytes(hid_t dataset, const hsize_t* offset, const std::string& name);

/// Reads that chunk into `chunk`; false if it was never written. Throws H5Error.
bool read_chunk(hid_t dataset, const hsize_t* offset, RawChunk& chunk, const std::string& name);

/// Where chunks of a dataset may begin. Datasets here have one dimension, or two, and chunks span
/// the second.
struct ChunkPlaces {
  int rank = 1;
  hsize_t rows = 0, width = 1;  // of the dataset
  hsize_t chunk_rows = 1;
  /// Calls `use` with the coordinates of each.
  template <class Use>
  void for_each(const Use& use) const {
    for (hsize_t offset[2] = {0, 0}; offset[0] < rows; offset[0] += chunk_rows) use(offset);
  }
};

/// `name` is for messages. Throws H5Error.
ChunkPlaces chunk_places(hid_t dataset, const std::string& name);

/// Rows [offset, offset + rows), which the crew unpacks. Empty if HDF5 has to read them, which then
/// says what is the matter. Throws H5Error if a chunk cannot be read.
std::optional<std::vector<char>> read_rows(hid_t dataset, const ChunkShape& shape, hsize_t offset,
                                           hsize_t rows, const std::string& name,
                                           Crew* crew = nullptr);

/// Compares every chunk of the file with its checksum. Throws H5Error, which names the first
/// dataset with a chunk that differs or cannot be read.
void check_chunks(hid_t file);

}  // namespace sweep
