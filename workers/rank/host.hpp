#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace worker {

/// A worker's description of its machine.
struct Host {
  std::string name;
  int pid = 0;
  std::int64_t start_ticks = 0;  // see sweep::process_start(); 0: not known
  int cores = 0;                 // usable by this process
  /// Host memory that cells may use, GiB: the minimum of MemAvailable and the cgroup limits of this
  /// process, or the override. 0 when unknown.
  double memory_gib = 0;
};

/// `node_memory_gib` overrides the detection, since some machines show less memory than they can
/// provide.
Host detect_host(std::optional<double> node_memory_gib = std::nullopt);

/// Host memory in GiB according to the files under `root`: proc/meminfo, proc/self/cgroup and
/// sys/fs/cgroup (version 2, 1, or both). A limit applies to everything below it, so all folders
/// from the process's own up to the root count. 0 when unknown.
double detect_memory_gib(const std::filesystem::path& root);

}  // namespace worker
