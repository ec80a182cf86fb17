#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace driver {

/// The file manifest.toml of a bundle: which files it has, and which program made it.
struct Manifest {
  static constexpr int kSchema = 1;
  std::string program;                       // "1.0.0 (commit)"
  std::map<std::string, std::string> files;  // path below the bundle to its SHA-256
};

inline constexpr const char* kManifestFile = "manifest.toml";

/// "1.0.0 (commit)"
std::string this_version();

/// The regular files below a folder but its manifest, sorted, with '/' between folders.
std::map<std::string, std::string> files_of(const std::filesystem::path& bundle);

std::string to_toml(const Manifest& manifest);
/// Throws sweep::SpecError for a file that is no manifest, or one of another schema.
Manifest read_manifest(const std::filesystem::path& bundle);

/// The archives of a bundle, sorted.
std::vector<std::string> archives_of(const std::filesystem::path& bundle);

/// The claims judged by all archives of a bundle, as CSV: expected/claims.csv when it was packed.
std::string claims_of(const std::filesystem::path& bundle);

}  // namespace driver
