#include "sweeps/hdf5/direct_chunks.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/codec.hpp"

namespace sweep {

namespace {

/// Whether the chunks have exactly the filters that this program applies.
bool has_known_filters(hid_t layout) {
  constexpr H5Z_filter_t kKnown[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32};
  if (H5Pget_nfilters(layout) != static_cast<int>(std::size(kKnown))) return false;
  for (unsigned i = 0; i < std::size(kKnown); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    if (H5Pget_filter2(layout, i, &flags, &values, nullptr, 0, nullptr, nullptr) != kKnown[i])
      return false;
  }
  return true;
}

bool has_checksum(hid_t layout) {
  const int filters = H5Pget_nfilters(layout);
  if (filters < 1) return false;
  unsigned flags = 0;
  std::size_t values = 0;
  return H5Pget_filter2(layout, static_cast<unsigned>(filters) - 1, &flags, &values, nullptr, 0,
                        nullptr, nullptr) == H5Z_FILTER_FLETCHER32;
}

/// Reads one row through all filters, which reads the whole chunk.
void read_through_filters(hid_t dataset, hsize_t row, int rank, hsize_t width) {
  const hsize_t first[2] = {row, 0}, count[2] = {1, width};
  const H5Space file(H5Dget_space(dataset), "get the shape of a dataset");
  h5_check(H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, first, nullptr, count, nullptr),
           "select a row");
  const H5Space memory(H5Screate_simple(rank, count, nullptr), "make a space of a row");
  const H5Type type(H5Dget_type(dataset), "get the type of a dataset");
  std::vector<char> bytes(width * H5Tget_size(type.get()));
  h5_check(H5Dread(dataset, type.get(), memory.get(), file.get(), H5P_DEFAULT, bytes.data()),
           "read a row");
}

herr_t keep_path(hid_t, const char* name, const H5O_info_t* info, void* names) {
  if (info->type == H5O_TYPE_DATASET) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  }
  return 0;
}

/// Calls `use` with every dataset that has checksums for its chunks, and its name.
template <class Use>
void for_each_checked_dataset(hid_t file, const Use& use) {
  std::vector<std::string> names;
  h5_check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, keep_path, &names, H5O_INFO_BASIC),
           "list datasets");
  for (const std::string& name : names) {
    const H5Dataset dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "open " + name);
    const H5Properties layout(H5Dget_create_plist(dataset.get()), "get the layout of " + name);
    const bool chunked = H5Pget_layout(layout.get()) == H5D_CHUNKED;
    if (!chunked || !has_checksum(layout.get())) continue;
    try {
      use(dataset.get(), name);
    } catch (const H5Error& error) {
      throw H5Error("the dataset " + name + " is not whole: " + error.what());
    }
  }
}

}  // namespace

std::optional<ChunkShape> chunk_shape(hid_t dataset, hid_t type) {
  const H5Properties layout(H5Dget_create_plist(dataset), "get the layout of a dataset");
  hsize_t rows = 0;
  if (H5Pget_layout(layout.get()) != H5D_CHUNKED || !has_known_filters(layout.get()) ||
      H5Pget_chunk(layout.get(), 1, &rows) != 1)
    return std::nullopt;
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

void write_chunks(hid_t dataset, const ChunkShape& shape, hsize_t offset,
                  std::span<const char> rows, const std::string& name) {
  for (hsize_t row = offset; !rows.empty(); row += shape.rows) {
    const std::span<const char> chunk = rows.first(std::min(rows.size(), shape.bytes()));
    write_chunk(dataset, row, pack_chunk(shape, chunk), name);
    rows = rows.subspan(chunk.size());
  }
}

hsize_t stored_bytes(hid_t dataset, const hsize_t* offset, const std::string& name) {
  const H5File file(H5Iget_file_id(dataset), "find the file of " + name);
  hsize_t size = 0, most = 0;
  h5_check(H5Dget_chunk_storage_size(dataset, offset, &size), "find a chunk of " + name);
  h5_check(H5Fget_filesize(file.get(), &most), "get the size of the file of " + name);
  if (size > most) throw H5Error("a chunk of " + name + " is larger than its file");
  return size;
}

bool read_chunk(hid_t dataset, const hsize_t* offset, RawChunk& chunk, const std::string& name) {
  chunk.bytes.resize(stored_bytes(dataset, offset, name));
  if (chunk.bytes.empty()) return false;
  h5_check(H5Dread_chunk(dataset, H5P_DEFAULT, offset, &chunk.skipped_filters, chunk.bytes.data()),
           "read a chunk of " + name);
  return true;
}

ChunkPlaces chunk_places(hid_t dataset, const std::string& name) {
  const H5Space space(H5Dget_space(dataset), "get the shape of " + name);
  const H5Properties layout(H5Dget_create_plist(dataset), "get the layout of " + name);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1 || rank > 2) throw H5Error(name + " has an unexpected shape");
  hsize_t size[2] = {0, 1}, chunk[2] = {1, 1};
  h5_check(H5Sget_simple_extent_dims(space.get(), size, nullptr), "get the shape of " + name);
  h5_check(H5Pget_chunk(layout.get(), rank, chunk), "get the chunks of " + name);
  return {rank, size[0], size[1], chunk[0]};
}

std::optional<std::vector<char>> read_rows(hid_t dataset, const ChunkShape& shape, hsize_t offset,
                                           hsize_t rows, const std::string& name, Crew* crew) {
  const hsize_t first = offset - offset % shape.rows, end = offset + rows;
  std::vector<RawChunk> chunks;
  for (hsize_t row = first; row < end; row += shape.rows) {
    if (!read_chunk(dataset, &row, chunks.emplace_back(), name) ||
        chunks.back().skipped_filters != 0)
      return std::nullopt;
  }
  std::vector<char> read(rows * shape.row_bytes);
  std::atomic<bool> is_whole = true;
  in_parallel(chunks.size(), crew, [&](std::size_t i) {
    const std::optional<std::vector<char>> shuffled =
        unpack_shuffled(chunks[i].bytes, shape.bytes());
    if (!shuffled) {
      is_whole = false;
      return;
    }
    const hsize_t chunk = first + i * shape.rows, from = std::max(chunk, offset);
    unshuffle_bytes(shuffled->data() + (from - chunk), shape.rows,
                    std::min(end, chunk + shape.rows) - from, shape.row_bytes,
                    read.data() + (from - offset) * shape.row_bytes);
  });
  if (!is_whole) return std::nullopt;
  return read;
}

void check_chunks(hid_t file) {
  for_each_checked_dataset(file, [](hid_t dataset, const std::string& name) {
    const ChunkPlaces places = chunk_places(dataset, name);
    RawChunk chunk;
    places.for_each([&](const hsize_t* offset) {
      if (!read_chunk(dataset, offset, chunk, name)) return;
      if (chunk.skipped_filters != 0) throw H5Error("a chunk skips filters, which none does");
      if (!has_fletcher32(chunk.bytes))
        read_through_filters(dataset, offset[0], places.rank, places.width);
    });
  });
}

}  // namespace sweep
