#pragma once
#include <string>

namespace sweep {

/// SHA-256 of a file that a sweep names, as 64 lower-case hex digits. Throws SpecError when it
/// cannot be read.
std::string sha256_of_file(const std::string& path);

/// SHA-256 of the files directly in a folder, their names included.
std::string sha256_of_folder(const std::string& path);

}  // namespace sweep
