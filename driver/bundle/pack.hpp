#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace driver {

/// Writes a folder that another machine can judge again: the archives, the profiles, claims and
/// published values that they are judged by, their sweep files, what comes out of them, and the
/// digests of all of it. The folder appears complete or not at all; it must not exist. Throws
/// UsageError for archives that are not whole, not merged or share a name, and sweep::FileError.
void pack(const std::vector<std::string>& archives, const std::filesystem::path& sweeps,
          const std::filesystem::path& bundle);

}  // namespace driver
