#include "sweeps/hdf5/h5.hpp"

#include <algorithm>
#include <cerrno>

#include "sweeps/files/durable_file.hpp"

namespace sweep {

namespace {

/// A file that cannot be written because the disk is full cannot be closed either, and HDF5's
/// cleanup at exit then crashes. So that cleanup is switched off, which must be the first HDF5
/// call. It is done here instead, if every file was closed: behind main(), and so after
/// MPI_Finalize(), which is right since no file is opened by way of MPI.
class CleanUp {
 public:
  CleanUp() { H5dont_atexit(); }
  ~CleanUp() {
    if (!close_failed) H5close();
  }
  bool close_failed = false;
};

CleanUp clean_up;

constexpr std::string_view kErrno = "errno = ";  // as HDF5 quotes what the system said

/// Keeps the innermost reason, or the one that quotes an errno.
herr_t keep_reason(unsigned, const H5E_error2_t* error, void* kept) {
  std::string& reason = *static_cast<std::string*>(kept);
  if (error->desc != nullptr && reason.find(kErrno) == std::string::npos) reason = error->desc;
  return 0;
}

/// Why the last call failed.
std::string last_reason() {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_reason, &reason);
  H5Eclear2(H5E_DEFAULT);
  return reason.empty() ? "no reason given" : reason;
}

/// The file that a reason names, "filename = 'a.h5'" or "name = 'a.h5'", or what was tried.
std::string culprit(const std::string& reason, const std::string& tried) {
  constexpr std::string_view kName = "name = '";
  const std::size_t at = reason.find(kName);
  if (at == std::string::npos) return "(HDF5: " + tried + ')';
  const std::size_t begin = at + kName.size();
  return reason.substr(begin, reason.find('\'', begin) - begin);
}

/// The errno that a reason quotes; 0 if it quotes none.
int quoted_errno(const std::string& reason) {
  const std::size_t at = reason.find(kErrno);
  return at == std::string::npos ? 0 : std::atoi(reason.c_str() + at + kErrno.size());
}

/// Whether HDF5 or one of its filters did not get memory.
bool is_out_of_memory(const std::string& reason) {
  return reason.find("memory allocation failed") != std::string::npos ||
         reason.find("inflateInit() failed") != std::string::npos;
}

/// Reads as many texts as the space has by `read(type, values)`; `name` is for messages.
template <class Read>
std::vector<std::string> read_texts(hid_t type, hid_t space, const std::string& name, Read read) {
  if (H5Tget_class(type) != H5T_STRING) throw H5Error(name + " is not a text");
  const auto count = static_cast<std::size_t>(
      h5_check(H5Sget_simple_extent_npoints(space), "get the size of " + name));
  std::vector<std::string> texts;
  if (count > 0 && H5Tis_variable_str(type) > 0) {  // as archives of schema 1 have them
    std::vector<char*> pointers(count, nullptr);
    h5_check(read(type, pointers.data()), "read " + name);
    for (char* pointer : pointers) {
      texts.emplace_back(pointer == nullptr ? "" : pointer);
      if (pointer != nullptr) H5free_memory(pointer);
    }
  } else if (count > 0) {
    const std::size_t width = H5Tget_size(type);
    std::string bytes(count * width, '\0');
    h5_check(read(type, bytes.data()), "read " + name);
    for (std::size_t at = 0; at < bytes.size(); at += width)
      texts.emplace_back(bytes.substr(at, width).c_str());
  }
  return texts;
}

void write_texts_attribute(hid_t object, const std::string& name, hid_t space,
                           const std::vector<std::string>& texts) {
  std::size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, text.size() + 1);
  std::string bytes(texts.size() * width, '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].copy(bytes.data() + i * width, width);
  write_attribute(object, name, text_type(width, H5T_STR_NULLTERM).get(), space,
                  texts.empty() ? nullptr : bytes.data());
}

H5Space scalar_space() { return {H5Screate(H5S_SCALAR), "make a scalar space"}; }

}  // namespace

hid_t h5_check(hid_t status, const std::string& tried) {
  if (status >= 0) return status;
  const std::string reason = last_reason();
  if (is_out_of_memory(reason)) throw_read_error("read", culprit(reason, tried), ENOMEM);
  const int number = quoted_errno(reason);
  if (number == 0) throw H5Error("cannot " + tried + ": " + reason);
  const std::string file = culprit(reason, tried);
  if (reason.starts_with("file read failed") || tried.starts_with("open "))
    throw_read_error("read", file, number);
  throw FileError(reason.starts_with("unable to open file") ? "create" : "write", file, number);
}

void silence_h5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

H5Properties h5_access() {
  H5Properties access(H5Pcreate(H5P_FILE_ACCESS), "make file access properties");
  h5_check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110),
           "set the file format");
#if H5_VERSION_GE(1, 10, 7)
  h5_check(H5Pset_file_locking(access.get(), 0, 1), "switch file locks off");
#endif
  return access;
}

/// Keeps all names of objects and attributes in the headers of their groups. A header has a
/// checksum and is small; HDF5's heaps and trees of names take many blocks.
static H5Properties keeping_names_in_headers(hid_t kind) {
  constexpr unsigned kMost = 4096;
  H5Properties creation(H5Pcreate(kind), "make creation properties");
  h5_check(H5Pset_link_phase_change(creation.get(), kMost, kMost - 1), "keep names in headers");
  h5_check(H5Pset_attr_phase_change(creation.get(), kMost, kMost - 1), "keep attributes there");
  return creation;
}

H5Type text_type(std::size_t bytes, H5T_str_t padding) {
  H5Type type(H5Tcopy(H5T_C_S1), "copy the string type");
  h5_check(H5Tset_size(type.get(), bytes), "set the length of a string type");
  h5_check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "set a string type to UTF-8");
  h5_check(H5Tset_strpad(type.get(), padding), "set the padding of a string type");
  return type;
}

H5Group create_group(hid_t parent, const std::string& name) {
  const H5Properties creation = keeping_names_in_headers(H5P_GROUP_CREATE);
  return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
          "create the group " + name};
}

void note_failed_close() { clean_up.close_failed = true; }

H5File create_h5(const std::string& path) {
  silence_h5();
  const H5Properties access = h5_access(), creation = keeping_names_in_headers(H5P_FILE_CREATE);
  // Closing takes effect at once or fails: it does not wait until the last object is closed.
  h5_check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_SEMI), "set how a file closes");
  return {H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get()), "create " + path};
}

H5File open_h5(const std::string& path) {
  silence_h5();
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, h5_access().get()), "open " + path};
}

bool has_object(hid_t parent, const std::string& name) {
  return h5_check(H5Lexists(parent, name.c_str(), H5P_DEFAULT), "look for " + name) > 0;
}

bool has_attribute(hid_t object, const std::string& name) {
  return h5_check(H5Aexists(object, name.c_str()), "look for the attribute " + name) > 0;
}

void remove_object(hid_t parent, const std::string& name) {
  h5_check(H5Ldelete(parent, name.c_str(), H5P_DEFAULT), "remove " + name);
}

void write_attribute(hid_t object, const std::string& name, hid_t type, hid_t space,
                     const void* value) {
  H5Attribute attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                        "create the attribute " + name);
  if (value != nullptr)
    h5_check(H5Awrite(attribute.get(), type, value), "write the attribute " + name);
  attribute.close_checked("close the attribute " + name);
}

void write_attribute(hid_t object, const std::string& name, const std::string& text) {
  write_texts_attribute(object, name, scalar_space().get(), {text});
}

void write_attribute(hid_t object, const std::string& name, const std::vector<std::string>& texts) {
  const hsize_t size = texts.size();
  const H5Space space(H5Screate_simple(1, &size, nullptr), "make a space for " + name);
  write_texts_attribute(object, name, space.get(), texts);
}

void write_attribute(hid_t object, const std::string& name, std::int64_t number) {
  write_attribute(object, name, H5T_STD_I64LE, scalar_space().get(), &number);
}

std::vector<std::string> read_texts_attribute(hid_t object, const std::string& name) {
  const std::string what = "the attribute " + name;
  const H5Attribute attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), "read " + what);
  const H5Type type(H5Aget_type(attribute.get()), "read " + what);
  const H5Space space(H5Aget_space(attribute.get()), "read " + what);
  return read_texts(type.get(), space.get(), what,
                    [&](hid_t as, void* to) { return H5Aread(attribute.get(), as, to); });
}

std::string read_text_attribute(hid_t object, const std::string& name) {
  const std::vector<std::string> texts = read_texts_attribute(object, name);
  if (texts.size() != 1) throw H5Error("the attribute " + name + " is not a single text");
  return texts.front();
}

std::int64_t read_integer_attribute(hid_t object, const std::string& name) {
  const H5Attribute attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT),
                              "open the attribute " + name);
  std::int64_t number = 0;
  h5_check(H5Aread(attribute.get(), H5T_NATIVE_INT64, &number), "read the attribute " + name);
  return number;
}

void write_text(hid_t parent, const std::string& name, const std::string& text) {
  const H5Type type = text_type(text.size() + 1, H5T_STR_NULLTERM);
  const H5Space space = scalar_space();
  H5Dataset dataset(H5Dcreate2(parent, name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT),
                    "create " + name);
  h5_check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()),
           "write " + name);
  dataset.close_checked("close " + name);
}

std::string read_text(hid_t parent, const std::string& name) {
  const H5Dataset dataset(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), "open " + name);
  const H5Type type(H5Dget_type(dataset.get()), "get the type of " + name);
  const H5Space space(H5Dget_space(dataset.get()), "get the size of " + name);
  const std::vector<std::string> texts =
      read_texts(type.get(), space.get(), name, [&](hid_t as, void* to) {
        return H5Dread(dataset.get(), as, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
      });
  if (texts.size() != 1) throw H5Error(name + " is not a single text");
  return texts.front();
}

}  // namespace sweep
