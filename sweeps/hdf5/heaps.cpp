#include <algorithm>
#include <string>

#include "sweeps/hdf5/bytes.hpp"

namespace sweep {

namespace {

constexpr std::uint64_t kLead = 16;  // bytes of a heap's header, and of an object's

[[noreturn]] void fail_heap(std::uint64_t heap, const std::string& what) {
  throw H5Error("the heap of texts at byte " + std::to_string(heap) + " " + what);
}

/// Bytes per element of the variable-length lists or texts that a type message describes; 0 for
/// other types, which refer to no heap.
std::uint64_t element_bytes(FileBytes type) {
  constexpr std::uint64_t kVariableLength = 9;
  constexpr std::size_t kLead = 8, kSize = 4;  // the type's header; the size in its element's type
  return (number_at(type, 0, 1) & 0xf) == kVariableLength ? number_at(type, kLead + kSize, 4) : 0;
}

struct Attribute {
  FileBytes type, values;
};
Attribute attribute_in(FileBytes message) {
  constexpr std::uint64_t kVersion = 3;
  if (number_at(message, 0, 1) != kVersion) throw H5Error("an attribute has another version");
  if (number_at(message, 1, 1) != 0) throw H5Error("an attribute shares its type");
  const std::uint64_t name = number_at(message, 2, 2), type = number_at(message, 4, 2),
                      space = number_at(message, 6, 2), start = 9 + name;
  if (start + type + space > message.size()) throw H5Error("an attribute is not whole");
  return {message.subspan(start, type), message.subspan(start + type + space)};
}

/// The values of a dataset without chunks, from its layout message (version 3).
FileBytes values_at(FileBytes file, FileBytes layout) {
  constexpr std::uint64_t kVersion = 3, kContiguous = 1, kNothing = ~std::uint64_t{0};
  if (number_at(layout, 0, 1) != kVersion || number_at(layout, 1, 1) != kContiguous)
    throw H5Error("a text has an unexpected layout");
  const std::uint64_t address = number_at(layout, 2, 8), bytes = number_at(layout, 10, 8);
  if (address == kNothing) return {};
  if (address > file.size() || bytes > file.size() - address)
    throw H5Error("a text lies beyond the end of the file");
  return file.subspan(address, bytes);
}

herr_t keep_address(hid_t, const char*, const H5O_info_t* info, void* addresses) {
  static_cast<std::vector<std::uint64_t>*>(addresses)->push_back(info->addr);
  return 0;
}

/// The addresses of the headers of every object reachable from the root.
std::vector<std::uint64_t> headers_in(hid_t file) {
  std::vector<std::uint64_t> headers;
  h5_check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, keep_address, &headers, H5O_INFO_BASIC),
           "list objects");
  return headers;
}

MappedFile mapped_file(hid_t file) {
  void* descriptor = nullptr;
  h5_check(H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor), "get the descriptor of a file");
  return MappedFile(*static_cast<int*>(descriptor));
}

}  // namespace

const HeapChecker::Objects& HeapChecker::heap_at(std::uint64_t address) {
  const auto [found, is_new] = heaps_.try_emplace(address);
  Objects& objects = found->second;
  if (!is_new) return objects;
  constexpr std::uint64_t kSignature = 0x4c4f4347, kVersion = 1;  // "GCOL"; three bytes of 0 follow
  const FileBytes rest = file_.subspan(std::min<std::uint64_t>(address, file_.size()));
  const std::uint64_t size = number_at(rest, 8, 8);
  if (number_at(rest, 0, 4) != kSignature || number_at(rest, 4, 4) != kVersion)
    fail_heap(address, "does not begin as one");
  if (size < kLead || size > rest.size()) fail_heap(address, "ends behind the file");
  for (std::uint64_t at = kLead; size - at >= kLead;) {
    const std::uint64_t index = number_at(rest, at, 2), bytes = number_at(rest, at + 8, 8);
    if (number_at(rest, at + 2, 6) != 0) fail_heap(address, "counts references");
    if (index == 0 && bytes != size - at)
      fail_heap(address, "has free space that does not fill it");
    if (index == 0) break;
    const std::uint64_t padded = bytes + (8 - bytes % 8) % 8;
    if (bytes > size || padded > size - at - kLead)
      fail_heap(address, "has an object beyond its end");
    if (!objects.emplace(index, bytes).second) fail_heap(address, "has two objects of one index");
    at += kLead + padded;
  }
  return objects;
}

void HeapChecker::check_references(FileBytes values, std::uint64_t element_bytes) {
  constexpr std::size_t kReference = 16;  // elements (4 bytes), heap (8), index of an object (4)
  if (element_bytes == 0) return;
  for (std::size_t at = 0; at + kReference <= values.size(); at += kReference) {
    const std::uint64_t heap = number_at(values, at + 4, 8);
    if (heap == 0) continue;  // a value without elements
    const Objects& objects = heap_at(heap);
    const auto object = objects.find(number_at(values, at + 12, 4));
    if (object == objects.end()) fail_heap(heap, "lacks a text that is named");
    if (object->second != number_at(values, at, 4) * element_bytes)
      fail_heap(heap, "has a text of another length than where it is named");
  }
}

void HeapChecker::check_heaps_of(std::uint64_t header) {
  constexpr std::uint64_t kType = 0x03, kLayout = 0x08, kAttribute = 0x0c;
  std::uint64_t element = 0;
  FileBytes layout;
  for_each_message(file_, header, [&](std::uint64_t type, FileBytes data) {
    if (type == kType) element = element_bytes(data);
    if (type == kLayout) layout = data;
    if (type != kAttribute) return;
    const Attribute attribute = attribute_in(data);
    check_references(attribute.values, element_bytes(attribute.type));
  });
  if (element > 0) check_references(values_at(file_, layout), element);
}

void check_heaps(hid_t file) {
  const MappedFile mapped = mapped_file(file);
  HeapChecker heaps(mapped.bytes());
  for (const std::uint64_t header : headers_in(file)) heaps.check_heaps_of(header);
}

void check_chunk_indices(hid_t file) {
  const MappedFile mapped = mapped_file(file);
  for (const std::uint64_t header : headers_in(file)) check_chunk_index(mapped.bytes(), header);
}

}  // namespace sweep
