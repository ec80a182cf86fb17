#include "driver/bundle/manifest.hpp"

#include <algorithm>
#include <sstream>

#include "analysis/claims/claims.hpp"
#include "driver/version.hpp"
#include "sweeps/definition/file_digest.hpp"
#include "sweeps/definition/params.hpp"
#include "sweeps/files/sha256.hpp"

namespace driver {

namespace fs = std::filesystem;

std::string this_version() { return std::string(kVersion) + " (" + kCommit + ')'; }

std::map<std::string, std::string> files_of(const fs::path& bundle) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(bundle)) {
    const std::string name = entry.path().lexically_relative(bundle).generic_string();
    if (entry.is_regular_file() && name != kManifestFile)
      files[name] = sweep::sha256_of_file(entry.path().string());
  }
  return files;
}

std::string to_toml(const Manifest& manifest) {
  std::string text = "# What kvsweep verify checks this folder by.\nschema = " +
                     std::to_string(Manifest::kSchema) + "\nprogram = \"" + manifest.program +
                     "\"\n\n[files]  # SHA-256\n";
  for (const auto& [name, digest] : manifest.files)
    text += '"' + name + "\" = \"" + digest + "\"\n";
  return text;
}

Manifest read_manifest(const fs::path& bundle) {
  const std::string file = (bundle / kManifestFile).string();
  const sweep::ParamMap params = sweep::load_flat_toml(file);
  sweep::ParamReader in(params, file);
  for (const char* key : {"schema", "program"}) in.require(key);
  if (in.integer("schema", 0, 0, 1 << 20) != Manifest::kSchema)
    in.fail("schema", "must be " + std::to_string(Manifest::kSchema) +
                          ": the bundle is of another version of kvsweep");
  Manifest manifest;
  manifest.program = in.text("program", "");
  in.number("tolerance", 0, 0, 1);  // of earlier programs
  constexpr std::string_view kFiles = "files.";
  for (const auto& [key, param] : params) {
    if (!key.starts_with(kFiles)) continue;
    const fs::path name = key.substr(kFiles.size());
    if (name.is_absolute() || name != name.lexically_normal() || *name.begin() == "..")
      in.fail(key, "must name a file below the bundle's folder");
    const std::string digest = in.text(key, "");
    if (!sweep::is_sha256(digest)) in.fail(key, "must be a SHA-256 in hex");
    manifest.files[name.generic_string()] = digest;
  }
  in.reject_unknown();
  if (manifest.files.empty()) throw sweep::SpecError(file + ": names no files");
  return manifest;
}

std::vector<std::string> archives_of(const fs::path& bundle) {
  std::vector<std::string> archives;
  for (const fs::directory_entry& entry : fs::directory_iterator(bundle / "archives"))
    if (entry.path().extension() == ".h5") archives.push_back(entry.path().string());
  std::ranges::sort(archives);
  return archives;
}

std::string claims_of(const fs::path& bundle) {
  std::ostringstream text;
  print_claims(analysis::run_claims(archives_of(bundle), "", bundle / "sweeps"),
               analysis::GridFormat::csv, text);
  return text.str();
}

}  // namespace driver
