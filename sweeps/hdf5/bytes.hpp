#pragma once
// An HDF5 file as bytes, for the parts that the library does not check or refuses to read. Layouts
// follow the "HDF5 File Format Specification Version 3.0". Every length and address read from the
// file is checked before it is used.
#include <cstdint>
#include <functional>
#include <map>

#include "sweeps/files/durable_file.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// A little-endian number; bytes beyond the end read as 0.
std::uint64_t number_at(FileBytes bytes, std::size_t at, std::size_t width);

/// Whether the last four bytes are the checksum of the preceding bytes.
bool has_lookup3(FileBytes part);

/// Whether the last four of a chunk's stored bytes are Fletcher's checksum of the others. A hole in
/// the file is all zero, including its checksum, and counts as damaged.
bool has_fletcher32(std::span<const unsigned char> chunk);

/// Calls `use` with every message of the object header (version 2) at an address. Throws H5Error
/// unless there is a header with a correct checksum.
void for_each_message(FileBytes file, std::uint64_t header,
                      const std::function<void(std::uint64_t type, FileBytes data)>& use);

/// Rebuilds a damaged superblock, and repairs single-bit errors in object headers, whose checksums
/// identify the bit. HDF5 cannot open an object with a wrong header checksum. Returns the number of
/// repairs.
int repair_headers(FileBytes file);

/// Checks the chunk index (a version 1 B-tree) of the dataset with that header; a group has none.
/// Throws H5Error if the index is not as HDF5 writes it.
void check_chunk_index(FileBytes file, std::uint64_t header);

/// Repairs single-bit errors in chunk indices: finds the bit that makes an index as HDF5 writes it
/// and gives every chunk its checksum. Returns the number of repairs.
int repair_chunk_indices(FileBytes file);

/// Checks the global heaps, which hold texts and lists of variable length.
class HeapChecker {
 public:
  explicit HeapChecker(FileBytes file) : file_(file) {}
  /// Checks the heaps that the attributes and the value of the object with that header refer to.
  /// Throws H5Error if a heap is not as HDF5 writes it.
  void check_heaps_of(std::uint64_t header);

 private:
  using Objects = std::map<std::uint64_t, std::uint64_t>;  // index in the heap -> bytes
  const Objects& heap_at(std::uint64_t address);
  void check_references(FileBytes values, std::uint64_t element_bytes);

  FileBytes file_;
  std::map<std::uint64_t, Objects> heaps_;  // by address
};

/// Check the heaps, or the chunk indices, of every object reachable from the root. Neither have
/// checksums. HDF5 returns zeros for a chunk that a damaged index hides, and writing through one
/// can crash; reading a text from a damaged heap can crash or never end, so check the heaps first.
void check_heaps(hid_t file);
void check_chunk_indices(hid_t file);

}  // namespace sweep
