// How much disk space the archive will need.
#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "sweeps/archive/archive.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/writing.hpp"

namespace sweep {

std::uint64_t Archive::pending_bytes() const {
  std::uint64_t bytes = 0;
  std::set<std::pair<dev_t, ino_t>> counted;  // cells that were committed together share a file
  for (const int row : pending_) {
    const FileIdentity shard =
        identity_of(shard_path(index_->cells[static_cast<std::size_t>(row)].key));
    if (counted.emplace(shard.device, shard.inode).second)
      bytes += static_cast<std::uint64_t>(shard.bytes);
  }
  return bytes;
}

/// Estimated from earlier cells: four times their mean size in the archive, or the largest unmerged
/// shard. At least 4 MiB, which hold about ten thousand steps.
std::uint64_t Archive::largest_expected_shard() const {
  constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
  std::uint64_t largest = std::max(kLeast, 4 * bytes_at(path_) / std::max<std::size_t>(merged_, 4));
  for (const std::string& name : names_in(folder_))
    if (name.ends_with(".h5")) largest = std::max(largest, bytes_at(in_folder(name)));
  return largest;
}

void Archive::check_room() {
  const std::string before = temporary_name(in_folder("probe")),
                    after = temporary_name(in_folder("probe"));
  writing(path_, [&] {
    try {
      files_.write(before, "kvsweep tries out whether it can write here\n");
      files_.rename(before, after);
      files_.remove(after);
    } catch (const FileError&) {
      discard(before);
      discard(after);
      throw;
    }
    files_.require_space(folder_, bytes_at(path_) + largest_expected_shard());
  });
}

}  // namespace sweep
