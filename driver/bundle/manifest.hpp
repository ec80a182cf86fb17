#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace driver {

/// The file manifest.toml of a bundle: which files it has, and which program made it.
struct Manifest {
  static constexpr int kSchema = 1;
  std::string program;                       // "1.0.0 (commit)"
  double tolerance = 0;                      // relative, of expected numbers
  std::map<std::string, std::string> files;  // path below the bundle to its SHA-256
};

inline constexpr const char* kManifestFile = "manifest.toml";

/// The regular files below a folder but its manifest, sorted, with '/' between folders.
std::map<std::string, std::string> files_of(const std::filesystem::path& bundle);

std::string to_toml(const Manifest& manifest);
/// Throws sweep::SpecError for a file that is no manifest, or one of another schema.
Manifest read_manifest(const std::filesystem::path& bundle);

}  // namespace driver
