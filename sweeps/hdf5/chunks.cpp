#include "sweeps/hdf5/chunks.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/codec.hpp"

namespace sweep {

namespace {

/// Whether the dataset has chunks with exactly the filters that this program applies.
bool is_packed(hid_t layout) {
  constexpr H5Z_filter_t kKnown[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32};
  if (H5Pget_layout(layout) != H5D_CHUNKED ||
      H5Pget_nfilters(layout) != static_cast<int>(std::size(kKnown)))
    return false;
  for (unsigned i = 0; i < std::size(kKnown); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    if (H5Pget_filter2(layout, i, &flags, &values, nullptr, 0, nullptr, nullptr) != kKnown[i])
      return false;
  }
  return true;
}

H5Properties layout_of(hid_t dataset) {
  return {H5Dget_create_plist(dataset), "get the layout of a dataset"};
}

herr_t keep_path(hid_t, const char* name, const H5O_info_t* info, void* names) {
  if (info->type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// Datasets here have one dimension, or two, and chunks span the second.
void check_chunks_of(hid_t dataset, hid_t layout, const std::string& name) {
  const H5Space space(H5Dget_space(dataset), "get the shape of " + name);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  hsize_t size[2] = {0, 1}, chunk[2] = {1, 1};
  if (rank < 1 || rank > 2) throw H5Error("it has an unexpected shape");
  h5_check(H5Sget_simple_extent_dims(space.get(), size, nullptr), "get the shape of " + name);
  h5_check(H5Pget_chunk(layout, rank, chunk), "get the chunks of " + name);
  for (hsize_t offset[2] = {0, 0}; offset[0] < size[0]; offset[0] += chunk[0]) {
    const std::optional<StoredChunk> stored = read_chunk(dataset, offset, name);
    if (stored && !has_fletcher32(*stored)) throw H5Error("a chunk does not have its checksum");
  }
}

}  // namespace

ChunkShape chunk_shape(hid_t dataset, hid_t type) {
  const H5Properties layout = layout_of(dataset);
  hsize_t rows = 0;
  if (!is_packed(layout.get()) || H5Pget_chunk(layout.get(), 1, &rows) != 1)
    throw H5Error("a dataset has other filters than kvsweep's");
  ChunkShape shape{rows, H5Tget_size(type), {}};
  shape.fill.resize(shape.row_bytes);
  h5_check(H5Pget_fill_value(layout.get(), type, shape.fill.data()), "get the fill value");
  return shape;
}

StoredChunk pack_chunk(const ChunkShape& shape, std::span<const char> rows) {
  const std::size_t count = rows.size() / shape.row_bytes;
  std::vector<char> shuffled(shape.bytes());
  shuffle_bytes(rows.data(), count, shape.row_bytes, shuffled.data(), shape.rows);
  if (count < shape.rows)
    for (std::size_t byte = 0; byte < shape.row_bytes; ++byte)
      std::fill_n(shuffled.data() + byte * shape.rows + count, shape.rows - count,
                  shape.fill[byte]);
  return pack_shuffled(shuffled);
}

void write_chunk(hid_t dataset, hsize_t row, const StoredChunk& chunk, const std::string& name) {
  h5_check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &row, chunk.size(), chunk.data()),
           "write the column " + name);
}

std::optional<StoredChunk> read_chunk(hid_t dataset, const hsize_t* offset,
                                      const std::string& name) {
  const H5File file(H5Iget_file_id(dataset), "find the file of " + name);
  hsize_t size = 0, most = 0;
  h5_check(H5Dget_chunk_storage_size(dataset, offset, &size), "find a chunk of " + name);
  h5_check(H5Fget_filesize(file.get(), &most), "get the size of the file of " + name);
  if (size > most) throw H5Error("a chunk of " + name + " is larger than its file");
  if (size == 0) return std::nullopt;
  StoredChunk chunk(size);
  std::uint32_t skipped = 0;
  h5_check(H5Dread_chunk(dataset, H5P_DEFAULT, offset, &skipped, chunk.data()),
           "read a chunk of " + name);
  if (skipped != 0) throw H5Error("a chunk of " + name + " skips filters, which none does");
  return chunk;
}

void read_rows(hid_t dataset, hid_t type, hsize_t offset, hsize_t rows, char* out,
               const std::string& name, int threads) {
  const ChunkShape shape = chunk_shape(dataset, type);
  const hsize_t first = offset - offset % shape.rows, end = offset + rows;
  std::vector<std::optional<StoredChunk>> chunks;
  for (hsize_t row = first; row < end; row += shape.rows)
    chunks.push_back(read_chunk(dataset, &row, name));
  in_parallel(chunks.size(), threads, [&](std::size_t i) {
    const hsize_t chunk = first + i * shape.rows, from = std::max(chunk, offset);
    const hsize_t count = std::min(end, chunk + shape.rows) - from;
    char* to = out + (from - offset) * shape.row_bytes;
    if (!chunks[i]) {
      for (hsize_t row = 0; row < count; ++row) to = std::ranges::copy(shape.fill, to).out;
      return;
    }
    const std::optional<std::vector<char>> shuffled = unpack_shuffled(*chunks[i], shape.bytes());
    if (!shuffled)
      throw H5Error("cannot read the column " + name + ": a chunk does not have its checksum");
    unshuffle_bytes(shuffled->data() + (from - chunk), shape.rows, count, shape.row_bytes, to);
  });
}

void check_chunks(hid_t file) {
  std::vector<std::string> names;
  h5_check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, keep_path, &names, H5O_INFO_BASIC),
           "list datasets");
  for (const std::string& name : names) {
    const H5Dataset dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "open " + name);
    const H5Properties layout = layout_of(dataset.get());
    if (!is_packed(layout.get())) continue;
    try {
      check_chunks_of(dataset.get(), layout.get(), name);
    } catch (const H5Error& error) {
      throw H5Error("the dataset " + name + " is not whole: " + error.what());
    }
  }
}

}  // namespace sweep
