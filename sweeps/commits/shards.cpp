#include "sweeps/commits/shards.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sweeps/archive/names.hpp"
#include "sweeps/files/sha256.hpp"

namespace sweep {

std::string Shards::path(const std::string& key) const { return shard_path(archive_, key); }

std::vector<std::string> Shards::keys() const {
  std::vector<std::string> keys;
  for (const std::string& name : names_in(archive_ + ".d")) {
    const std::string key = name.substr(0, name.size() - std::min(name.size(), kShardEnd.size()));
    if (name.ends_with(kShardEnd) && is_sha256(key)) keys.push_back(key);
  }
  return keys;
}

void Shards::publish(std::span<const std::string> keys, const std::string& bytes) {
  const std::string temporary = temporary_name(path(keys.front()));
  std::string name;
  try {
    files_.write(temporary, bytes);
    if (keys.size() > 1) files_.sync(temporary);
    for (const std::string& key : keys.subspan(1)) {
      name = temporary_name(path(key));
      if (!files_.link(temporary, name)) {
        files_.write(name, bytes);
        files_.sync(name);
      }
      files_.rename(name, path(key));
      files_.remove(name);  // rename keeps both names if they are links to one file
    }
    sweep::publish(files_, temporary, path(keys.front()));
  } catch (const FileError&) {
    discard(temporary);
    if (!name.empty()) discard(name);
    throw;
  }
}

void Shards::set_file_aside(const std::string& file, const std::string& why) {
  files_.rename(file, file + ".damaged");
  if (warn_) warn_(why + "; it is now " + file + ".damaged");
}

std::uint64_t Shards::bytes_of(std::span<const std::string> keys) const {
  std::uint64_t bytes = 0;
  std::set<std::pair<dev_t, ino_t>> counted;
  for (const std::string& key : keys) {
    const FileIdentity shard = identity_of(path(key));
    if (counted.emplace(shard.device, shard.inode).second)
      bytes += static_cast<std::uint64_t>(shard.bytes);
  }
  return bytes;
}

std::uint64_t Shards::largest() const {
  std::uint64_t largest = 0;
  for (const std::string& key : keys()) largest = std::max(largest, bytes_at(path(key)));
  return largest;
}

}  // namespace sweep
