#include "sweeps/files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "sweeps/files/durable_file.hpp"

namespace sweep {

MappedFile::MappedFile(const std::string& path) {
  map(Descriptor(path, O_RDWR).get(), PROT_READ | PROT_WRITE, MAP_SHARED);
}

MappedFile::MappedFile(int descriptor) { map(descriptor, PROT_READ, MAP_PRIVATE); }

void MappedFile::map(int descriptor, int protection, int flags) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw FileError("look at", "an open file", errno);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  begin_ = ::mmap(nullptr, size_, protection, flags, descriptor, 0);
  if (begin_ == MAP_FAILED) throw FileError("map", "an open file", errno);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(begin_, size_);
}

}  // namespace sweep
