#include <algorithm>
#include <string_view>

#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/column.hpp"
#include "sweeps/hdf5/digest.hpp"
#include "sweeps/hdf5/direct_chunks.hpp"

namespace sweep {

namespace {

/// Adds a text after its length, so that "ab", "c" and "a", "bc" differ.
void add_text(Sha256& sha, std::string_view text) {
  sha.update(std::to_string(text.size()) + ':');
  sha.update(text);
}

void add_number(Sha256& sha, std::int64_t number) { sha.update(std::to_string(number) + ';'); }

void add_type(Sha256& sha, hid_t type) {
  std::size_t size = 0;
  h5_check(H5Tencode(type, nullptr, &size), "measure a type");
  std::string bytes(size, '\0');
  h5_check(H5Tencode(type, bytes.data(), &size), "encode a type");
  add_text(sha, bytes);
}

void add_shape(Sha256& sha, hid_t space) {
  const int rank = static_cast<int>(h5_check(H5Sget_simple_extent_ndims(space), "get a rank"));
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  h5_check(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), "get a shape");
  add_number(sha, rank);
  for (const hsize_t size : sizes) add_number(sha, static_cast<std::int64_t>(size));
}

/// Adds the values of an attribute, or of a small dataset, with a type of fixed length.
template <class Read>
void add_fixed_values(Sha256& sha, hid_t type, hid_t space, Read read) {
  const auto count =
      static_cast<std::size_t>(h5_check(H5Sget_simple_extent_npoints(space), "count"));
  std::string bytes(count * H5Tget_size(type), '\0');
  if (!bytes.empty()) h5_check(read(bytes.data()), "read values");
  add_text(sha, bytes);
}

/// Adds lists of references. The only lists here are those of netCDF dimensions.
void add_lists(Sha256& sha, hid_t attribute, hid_t type, hid_t space) {
  const auto count =
      static_cast<std::size_t>(h5_check(H5Sget_simple_extent_npoints(space), "count"));
  std::vector<hvl_t> lists(count);
  h5_check(H5Aread(attribute, type, lists.data()), "read a list");
  for (const hvl_t& list : lists) {
    add_text(sha, {static_cast<const char*>(list.p), list.len * sizeof(hobj_ref_t)});
  }
  h5_check(H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists.data()), "free a list");
}

void add_attribute(Sha256& sha, hid_t object, const char* name) {
  const H5Attribute attribute(H5Aopen(object, name, H5P_DEFAULT), "open an attribute");
  const H5Type type(H5Aget_type(attribute.get()), "get the type of an attribute");
  const H5Space space(H5Aget_space(attribute.get()), "get the shape of an attribute");
  add_text(sha, name);
  add_shape(sha, space.get());
  if (H5Tis_variable_str(type.get()) > 0) {
    for (const std::string& text : read_texts_attribute(object, name)) add_text(sha, text);
  } else if (H5Tget_class(type.get()) == H5T_VLEN) {
    add_lists(sha, attribute.get(), type.get(), space.get());
  } else {
    add_type(sha, type.get());
    add_fixed_values(sha, type.get(), space.get(),
                     [&](void* to) { return H5Aread(attribute.get(), type.get(), to); });
  }
}

herr_t keep_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

void add_attributes(Sha256& sha, hid_t object) {
  std::vector<std::string> names;
  h5_check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, keep_name, &names),
           "list attributes");
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) add_attribute(sha, object, name.c_str());
}

/// Adds position, size and skipped filters of each chunk, since the chunk index has no checksum. It
/// is 0 filters: check_chunk_indices() refuses other chunks. Reads no chunk.
void add_chunks(Sha256& sha, hid_t dataset) {
  chunk_places(dataset, "a table").for_each([&](const hsize_t* offset) {
    const hsize_t size = stored_bytes(dataset, offset, "a table");
    add_number(sha, size > 0 ? static_cast<std::int64_t>(size) : -1);
    add_number(sha, 0);
  });
}

/// HDF5 says 0 for a size that it cannot read.
std::int64_t storage_size(hid_t dataset) {
  const hsize_t size = H5Dget_storage_size(dataset);
  if (size == 0 && H5Eget_num(H5E_DEFAULT) > 0) h5_check(-1, "get the size of a dataset");
  return static_cast<std::int64_t>(size);
}

/// Adds a dataset without the contents of its chunks, which have checksums of their own.
void add_dataset(Sha256& sha, hid_t dataset) {
  const H5Type type(H5Dget_type(dataset), "get the type of a dataset");
  const H5Space space(H5Dget_space(dataset), "get the shape of a dataset");
  const H5Properties layout(H5Dget_create_plist(dataset), "get the layout of a dataset");
  add_type(sha, type.get());
  add_shape(sha, space.get());
  add_number(sha, storage_size(dataset));
  if (H5Pget_layout(layout.get()) == H5D_CHUNKED) return add_chunks(sha, dataset);
  if (H5Tis_variable_str(type.get()) > 0) return;
  add_fixed_values(sha, type.get(), space.get(), [&](void* to) {
    return H5Dread(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
  });
}

herr_t keep_object(hid_t, const char* name, const H5O_info_t*, void* names) {
  return keep_name(0, name, nullptr, names);
}

bool is_in(const std::string& name, std::string_view group) {
  return name == group || name.starts_with(std::string(group) + '/');
}

}  // namespace

std::string objects_digest(hid_t file, std::string_view left_out) {
  std::vector<std::string> names;
  h5_check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, keep_object, &names, H5O_INFO_BASIC),
           "list objects");
  std::sort(names.begin(), names.end());
  Sha256 sha;
  for (const std::string& name : names) {
    if (is_in(name, left_out)) continue;
    add_text(sha, name);
    const H5Object object(H5Oopen(file, name.c_str(), H5P_DEFAULT), "open " + name);
    add_attributes(sha, object.get());
    if (H5Iget_type(object.get()) == H5I_DATASET) add_dataset(sha, object.get());
  }
  return sha.hex();
}

}  // namespace sweep
