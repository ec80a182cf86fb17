#include "workers/rank/host.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using worker::detect_memory_gib;

namespace {

constexpr const char* kMemInfo =
    "MemTotal:       67108864 kB\nMemFree:        1 kB\nMemAvailable:   33554432 kB\n";  // 32 GiB

class MachineFiles {
 public:
  MachineFiles& with(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / file).parent_path());
    std::ofstream(folder_.path() / file) << text;
    return *this;
  }
  double memory_gib() const { return detect_memory_gib(folder_.path()); }

 private:
  support::TempDir folder_;
};

std::string gib(int count) { return std::to_string(std::int64_t{count} << 30) + "\n"; }

}  // namespace

TEST_CASE("without cgroups the available memory counts") {
  MachineFiles machine;
  CHECK(machine.with("proc/meminfo", kMemInfo).memory_gib() == 32);
}

TEST_CASE("a version 2 limit anywhere above the process counts") {
  MachineFiles machine;
  machine.with("proc/meminfo", kMemInfo).with("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  machine.with("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  CHECK(machine.memory_gib() == 32);
  machine.with("sys/fs/cgroup/slurm/job_7/memory.max", gib(20));
  CHECK(machine.memory_gib() == 20);
  machine.with("sys/fs/cgroup/slurm/memory.max", gib(12));
  CHECK(machine.memory_gib() == 12);
  machine.with("sys/fs/cgroup/memory.max", gib(8));
  CHECK(machine.memory_gib() == 8);
}

TEST_CASE("version 1 and mixed hierarchies count, and their way to say unlimited") {
  MachineFiles machine;
  machine.with("proc/meminfo", kMemInfo)
      .with("proc/self/cgroup", "5:devices:/x\n4:cpu,memory:/slurm/job_7\n0::/slurm\n");
  machine.with("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(machine.memory_gib() == 32);
  machine.with("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", gib(24));
  CHECK(machine.memory_gib() == 24);
  machine.with("sys/fs/cgroup/unified/slurm/memory.max", gib(16));
  CHECK(machine.memory_gib() == 16);
}

TEST_CASE("in a container the limit is at the mount point, whatever path the host gave") {
  MachineFiles machine;
  machine.with("proc/meminfo", kMemInfo).with("proc/self/cgroup", "0::/../../host/only\n");
  machine.with("sys/fs/cgroup/memory.max", gib(4));
  CHECK(machine.memory_gib() == 4);
}

TEST_CASE("unreadable numbers are no limits, and a machine without files says nothing") {
  MachineFiles machine;
  machine.with("sys/fs/cgroup/memory.max", "12x\n").with("proc/self/cgroup", "nonsense\n0::/\n");
  CHECK(machine.memory_gib() == 0);
}

TEST_CASE("this machine has a name, cores and memory, and the override wins") {
  const worker::Host host = worker::detect_host();
  CHECK_FALSE(host.name.empty());
  CHECK(host.pid > 0);
  CHECK(host.cores >= 1);
  CHECK(host.memory_gib > 0);
  CHECK(worker::detect_host(200).memory_gib == 200);
}
