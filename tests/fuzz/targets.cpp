#include "tests/fuzz/targets.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace fuzz {

InputFile::InputFile()
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
}

InputFile::InputFile(const std::string& link) : InputFile() {
  std::filesystem::create_symlink(path_, link);
}

InputFile::~InputFile() { close(descriptor_); }

const std::string& InputFile::holding(std::string_view bytes) const {
  const auto size = static_cast<ssize_t>(bytes.size());
  if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, bytes.data(), bytes.size(), 0) != size)
    throw std::system_error(errno, std::generic_category(), path_);
  return path_;
}

const Target& target(std::string_view name) {
  static const std::vector<Target> kAll = {
      trace_target(),    sweep_target(),          gzip_target(),         requests_target(),
      arrivals_target(), safetensors_target(),    config_target(),       frames_target(),
      shard_target(),    repaired_shard_target(), server_stream_target()};
  const auto found = std::ranges::find(kAll, name, &Target::name);
  if (found == kAll.end()) throw std::out_of_range("no fuzz target " + std::string(name));
  return *found;
}

}  // namespace fuzz
