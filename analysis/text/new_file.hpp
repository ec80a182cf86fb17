#pragma once
#include <filesystem>
#include <functional>
#include <ostream>
#include <system_error>

namespace analysis {

/// No file can be made at a path: its folder is missing or read-only, or the path exists and is
/// neither a file nor a link.
struct WrongPath : std::system_error {
  using std::system_error::system_error;
};

/// Lets `write` fill a file that appears complete or not at all: it is written under a temporary
/// name in the same folder and renamed. The name is random and the file is newly created, so no
/// file or link of another process is followed, overwritten or removed. What `write` throws leaves
/// no file, and an existing one unchanged. Throws std::system_error, which names the path, when a
/// write fails, and WrongPath before anything is written.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

}  // namespace analysis
