#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace worker {

/// What a worker says about the machine it runs on.
struct Host {
  std::string name;
  int pid = 0;
  std::int64_t start_ticks = 0;  // see sweep::process_start(); 0: not known
  int cores = 0;                 // that this process may use
  /// Host memory that cells may use, GiB: the least of MemAvailable and the cgroup limits above
  /// this process, or the override. 0 when nothing says.
  double memory_gib = 0;
};

/// `node_memory_gib` overrides the detection: some machines show less memory than they will give.
Host detect_host(std::optional<double> node_memory_gib = std::nullopt);

/// Host memory in GiB as the files under `root` tell: proc/meminfo, proc/self/cgroup and
/// sys/fs/cgroup (version 2, 1, or both). A limit holds for everything below it, so all folders
/// from the process's own up to the root count. 0 when nothing says.
double detect_memory_gib(const std::filesystem::path& root);

}  // namespace worker
