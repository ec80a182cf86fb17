#include <bit>
#include <cstring>

#include "sweeps/hdf5/bytes.hpp"
#include "sweeps/hdf5/codec.hpp"
#include "sweeps/hdf5/column.hpp"
#include "sweeps/hdf5/digest.hpp"
#include "sweeps/hdf5/direct_chunks.hpp"

namespace sweep {

namespace {

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

/// Calls `use` with every stored chunk of a dataset and its coordinates.
template <class Use>
void for_each_chunk(hid_t dataset, const ChunkPlaces& places, const std::string& name,
                    const Use& use) {
  RawChunk chunk;
  places.for_each([&](const hsize_t* offset) {
    if (read_chunk(dataset, offset, chunk, name)) use(chunk, offset);
  });
}

/// Flips the bit, in the chunk or in the checksum itself, that makes the checksum right. False if
/// no single bit does.
bool repair_bit(std::vector<unsigned char>& chunk) {
  constexpr std::int64_t kModulus = 65535;  // modulus of both sums
  std::uint32_t stored = 0;
  if (chunk.size() <= sizeof stored) return false;
  const std::size_t size = chunk.size() - sizeof stored;
  std::memcpy(&stored, chunk.data() + size, sizeof stored);
  const std::uint32_t found = fletcher32({chunk.data(), size});
  if (std::popcount(stored ^ found) == 1) {
    std::memcpy(chunk.data() + size, &found, sizeof found);
    return true;
  }
  const auto words = static_cast<std::int64_t>((size + 1) / 2);
  const std::int64_t first = (found & 0xffff) - std::int64_t{stored & 0xffff};
  const std::int64_t second = (found >> 16) - std::int64_t{stored >> 16};
  for (std::size_t byte = 0; byte < size; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      const std::int64_t value = std::int64_t{1} << (bit + (byte % 2 == 0 ? 8 : 0));
      const std::int64_t change = (chunk[byte] >> bit & 1) != 0 ? value : -value;
      if ((change - first) % kModulus != 0) continue;
      // The second sum counts a word once for itself and once for each word after it.
      const std::int64_t times = words - static_cast<std::int64_t>(byte / 2);
      if ((change * times - second) % kModulus != 0) continue;
      chunk[byte] = static_cast<unsigned char>(chunk[byte] ^ 1 << bit);
      return true;
    }
  }
  return false;
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
    H5Dataset dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "open " + name);
    const H5Properties layout(H5Dget_create_plist(dataset.get()), "get the layout of " + name);
    const bool chunked = H5Pget_layout(layout.get()) == H5D_CHUNKED;
    if (!chunked || !has_checksum(layout.get())) continue;
    try {
      use(dataset.get(), name);
    } catch (const H5Error& error) {
      throw H5Error("the dataset " + name + " is not whole: " + error.what());
    }
    dataset.close_checked("close " + name);
  }
}

}  // namespace

bool has_fletcher32(std::span<const unsigned char> chunk) {
  std::uint32_t stored = 0;
  if (chunk.size() <= sizeof stored) return false;
  const std::size_t size = chunk.size() - sizeof stored;
  std::memcpy(&stored, chunk.data() + size, sizeof stored);
  return stored != 0 && stored == fletcher32({chunk.data(), size});
}

void check_chunks(hid_t file) {
  for_each_checked_dataset(file, [](hid_t dataset, const std::string& name) {
    const ChunkPlaces places = chunk_places(dataset, name);
    for_each_chunk(dataset, places, name, [&](const RawChunk& chunk, const hsize_t* offset) {
      if (chunk.skipped_filters != 0) throw H5Error("a chunk skips filters, which none does");
      if (!has_fletcher32(chunk.bytes))
        read_through_filters(dataset, offset[0], places.rank, places.width);
    });
  });
}

int repair_chunks(hid_t file) {
  int repaired = 0;
  for_each_checked_dataset(file, [&](hid_t dataset, const std::string& name) {
    const auto repair = [&](RawChunk& chunk, const hsize_t* offset) {
      if (has_fletcher32(chunk.bytes) || !repair_bit(chunk.bytes)) return;
      ++repaired;
      h5_check(H5Dwrite_chunk(dataset, H5P_DEFAULT, chunk.skipped_filters, offset,
                              chunk.bytes.size(), chunk.bytes.data()),
               "repair a chunk of " + name);
    };
    for_each_chunk(dataset, chunk_places(dataset, name), name, repair);
  });
  return repaired;
}

}  // namespace sweep
