#include "workers/rank/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "sweeps/commits/marks.hpp"
#include "sweeps/text/text.hpp"

namespace worker {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
// Version 1 expresses "no limit" as the largest multiple of a page below 2^63.
constexpr std::uint64_t kImpossibleBytes = std::uint64_t{1} << 60;

std::string first_word(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

/// The limit in a cgroup's file; version 2 writes "max" for none.
std::uint64_t limit_in(const fs::path& file) {
  const auto bytes = sweep::number_from<std::uint64_t>(first_word(file)).value_or(0);
  return bytes > 0 && bytes < kImpossibleBytes ? bytes : kUnlimited;
}

/// The lowest limit from `group` up to the mount point. Inside a container the path may name
/// folders of the host that are not mounted here; these are skipped.
std::uint64_t least_limit(const fs::path& mount, const std::string& group,
                          const std::string& file) {
  std::uint64_t least = limit_in(mount / file);
  for (fs::path at = fs::path(group).relative_path(); !at.empty(); at = at.parent_path())
    least = std::min(least, limit_in(mount / at / file));
  return least;
}

std::uint64_t cgroup_limit(const fs::path& root) {
  std::ifstream in(root / "proc/self/cgroup");
  std::uint64_t least = kUnlimited;
  const fs::path mount = root / "sys/fs/cgroup";
  // Each line is ID:CONTROLLERS:PATH; version 2 has no controllers.
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first) + ',';
    controllers.front() = ',';
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, least_limit(mount, group, "memory.max"));
      least = std::min(least, least_limit(mount / "unified", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit(mount / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t available_memory(const fs::path& root) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (words >> key >> kib && key == "MemAvailable:") return kib * 1024;
  }
  return kUnlimited;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace

double detect_memory_gib(const fs::path& root) {
  const std::uint64_t bytes = std::min(available_memory(root), cgroup_limit(root));
  return bytes == kUnlimited ? 0 : static_cast<double>(bytes) / 0x1p30;
}

Host detect_host(std::optional<double> node_memory_gib) {
  return {.name = host_name(),
          .pid = static_cast<int>(getpid()),
          .start_ticks = sweep::process_start(getpid()).value_or(0),
          .cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())),
          .memory_gib = node_memory_gib ? *node_memory_gib : detect_memory_gib("/")};
}

}  // namespace worker
