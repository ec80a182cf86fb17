#pragma once
// Files that the user names. All throw SpecError for what cannot be read.
#include <string>

namespace sweep {

/// The text of a TOML file, of at most 16 MiB.
std::string read_file(const std::string& path);

/// SHA-256 of a file, as 64 lower-case hex digits.
std::string sha256_of_file(const std::string& path);

/// SHA-256 of the files directly in a folder, their names included.
std::string sha256_of_folder(const std::string& path);

}  // namespace sweep
