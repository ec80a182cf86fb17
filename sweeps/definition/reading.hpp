#pragma once
// Private to this room: how files that the user names are read.
#include <filesystem>
#include <string>
#include <system_error>

#include "sweeps/definition/params.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

/// Returns what `read()` returns. Throws SpecError for a folder and if the path is wrong;
/// ReadFailed stays.
template <class Read>
auto reading(const std::string& path, Read read) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    throw SpecError(path + ": cannot be read: it is a folder");
  try {
    return read();
  } catch (const ReadFailed&) {
    throw;
  } catch (const FileError& error) {
    throw SpecError(path +
                    ": cannot be read: " + std::generic_category().message(error.error_number));
  }
}

}  // namespace sweep
