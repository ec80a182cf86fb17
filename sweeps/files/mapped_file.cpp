#include "sweeps/files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "sweeps/files/durable_file.hpp"

namespace sweep {

MappedFile::MappedFile(const std::string& path, Access access) : size_(bytes_at(path)) {
  const bool writes = access == Access::write;
  const Descriptor file(path, writes ? O_RDWR : O_RDONLY);
  if (size_ == 0) return;
  begin_ = ::mmap(nullptr, size_, writes ? PROT_READ | PROT_WRITE : PROT_READ,
                  writes ? MAP_SHARED : MAP_PRIVATE, file.get(), 0);
  if (begin_ == MAP_FAILED) throw FileError("map", path, errno);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(begin_, size_);
}

}  // namespace sweep
