// The parts of the cuda backend that need no device: pool sizes, host memory, telemetry.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <set>

#include "tests/support/catch.hpp"
#include "workers/backends/cuda/device/errors.hpp"
#include "workers/backends/cuda/device/host_memory.hpp"
#include "workers/backends/cuda/device/nvml.hpp"
#include "workers/backends/cuda/device/pool_plan.hpp"
#include "workers/backends/cuda/device/telemetry.hpp"
#include "workers/backends/cuda/forward/gemm_table.hpp"
#include "workers/engine/base/errors.hpp"

using namespace backends;
using Catch::Matchers::Contains;

namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr std::size_t kMib = std::size_t{1} << 20;

/// What a test's page locking did; outlives it.
struct Locks {
  std::atomic<int> locked{0};
  std::atomic<int> unlocked{0};
  int fail_at = -1;                   // the piece that cannot be locked
  std::shared_future<void> released;  // valid: a lock waits for it
};

HostMemory memory_of(Locks& locks, std::size_t piece_mib = 4) {
  return {{.lock =
               [&locks](std::byte*, std::size_t) {
                 if (locks.released.valid()) locks.released.wait();
                 if (locks.locked == locks.fail_at) throw DeviceOutOfMemory("no more pages");
                 ++locks.locked;
               },
           .unlock = [&locks](std::byte*) { ++locks.unlocked; }},
          {.piece_bytes = piece_mib * kMib, .touch_threads = 3, .numa_node = -1}};
}

/// Number n of slots [0, n) that are ready.
int ready_slots(const HostMemory& memory, std::size_t piece_mib = 4) {
  const auto ready = static_cast<std::size_t>(memory.locked_bytes()) / (piece_mib * kMib) *
                     (piece_mib * kMib / memory.slot_bytes());
  return std::min(memory.slots(), static_cast<int>(ready));
}

}  // namespace

TEST_CASE("a pool takes the memory that utilization allows, less what is already in use") {
  const PoolPlan plan =
      plan_pool({.memory_utilization = 0.9}, {100 * kGib, 20 * kGib}, 2 << 20, 16);
  CHECK(plan.bytes() <= 70 * kGib);
  CHECK(plan.bytes() + (2 << 20) > 70 * kGib - (2 << 20));
  CHECK(plan.tokens() == std::int64_t{plan.num_blocks - 1} * 16);
}

TEST_CASE("a pool sized in tokens has the whole blocks of these tokens and the null block") {
  const PoolPlan plan = plan_pool({.kv_tokens = 1000}, {kGib, kGib}, 2 << 20, 16);
  CHECK(plan.num_blocks == 63);
  CHECK(plan.tokens() == 992);
}

TEST_CASE("too little memory for two blocks is an error that says how much may be used") {
  CHECK_THROWS_WITH(plan_pool({.memory_utilization = 0.5}, {16 * kGib, 8 * kGib}, 2 << 20, 16),
                    Contains("8192 MiB of the device's memory may be used"));
  CHECK_THROWS_AS(
      plan_pool({.memory_utilization = 0.5}, {16 * kGib, 8 * kGib - (3 << 20)}, 2 << 20, 16),
      engine::InputError);
  for (const double wrong : {0.0, -1.0, 1.01, std::nan("")})
    CHECK_THROWS_WITH(plan_pool({.memory_utilization = wrong}, {16 * kGib, 0}, 2 << 20, 16),
                      Contains("above 0 and at most 1"));
}

TEST_CASE("slots never overlap, and hold what is written to them") {
  Locks locks;
  HostMemory memory = memory_of(locks);
  const std::size_t bytes = 384 * 1024;  // 10 per piece
  memory.reserve(35, bytes);
  memory.wait_ready();
  CHECK(ready_slots(memory) == 35);
  for (int s = 0; s < 35; ++s)
    std::memset(memory.slot(engine::HostSlot{static_cast<std::uint32_t>(s)}), s + 1, bytes);
  for (int s = 0; s < 35; ++s) {
    const std::byte* const slot = memory.slot(engine::HostSlot{static_cast<std::uint32_t>(s)});
    CHECK(slot[0] == static_cast<std::byte>(s + 1));
    CHECK(slot[bytes - 1] == static_cast<std::byte>(s + 1));
  }
  CHECK(locks.locked == 4);
}

TEST_CASE("slots become ready piece by piece while the caller goes on") {
  Locks locks;
  std::promise<void> release;
  locks.released = release.get_future().share();
  HostMemory memory = memory_of(locks);
  memory.reserve(64, kMib);  // 16 pieces; locking is blocked
  CHECK(ready_slots(memory) == 0);
  release.set_value();
  memory.wait_ready();
  CHECK(ready_slots(memory) == 64);
}

TEST_CASE("a wait for host memory can be stopped") {
  Locks locks;
  std::promise<void> release;
  locks.released = release.get_future().share();
  HostMemory memory = memory_of(locks);
  memory.reserve(64, kMib);
  std::stop_source stop;
  auto waited = std::async(std::launch::async, [&] { return memory.wait_ready(stop.get_token()); });
  stop.request_stop();
  CHECK_FALSE(waited.get());
  release.set_value();
  CHECK(memory.wait_ready());
  CHECK(ready_slots(memory) == 64);
}

TEST_CASE("a later cell reuses reserved pieces, and only a larger tier reserves more") {
  Locks locks;
  {
    HostMemory memory = memory_of(locks);
    memory.reserve(16, kMib);
    memory.wait_ready();
    CHECK(locks.locked == 4);
    memory.reserve(8, 2 * kMib);
    CHECK(ready_slots(memory) == 8);
    CHECK(locks.locked == 4);
    memory.reserve(20, kMib);
    memory.wait_ready();
    CHECK(locks.locked == 5);
    memory.reserve(2, kMib);
    CHECK(ready_slots(memory) == 2);
    CHECK(memory.bytes() == 20 * static_cast<std::int64_t>(kMib));
  }
  CHECK(locks.unlocked == 5);
}

TEST_CASE(
    "memory that cannot be locked is an error of every later call, and locked memory is freed") {
  Locks locks;
  locks.fail_at = 2;
  {
    HostMemory memory = memory_of(locks);
    memory.reserve(64, kMib);
    CHECK_THROWS_AS(memory.wait_ready(), DeviceOutOfMemory);
    CHECK_THROWS_AS(memory.wait_slots(64), DeviceOutOfMemory);
    CHECK_THROWS_AS(memory.reserve(1, kMib), DeviceOutOfMemory);
    CHECK(memory.failed());
  }
  CHECK(locks.unlocked == 2);
}

TEST_CASE("a slot larger than a piece is refused, and waiting without a reservation does nothing") {
  Locks locks;
  HostMemory memory = memory_of(locks);
  CHECK_THROWS_AS(memory.reserve(1, 5 * kMib), engine::InputError);
  CHECK_THROWS_AS(memory.reserve(1, 0), engine::InputError);
  memory.wait_ready();
  CHECK(memory.slots() == 0);
}

TEST_CASE("pageable memory is ready as soon as it is touched, and says that copies block") {
  HostMemory memory(PageLocking{}, {.piece_bytes = 2 * kMib});
  memory.reserve(3, kMib);
  memory.wait_ready();
  CHECK(ready_slots(memory, 2) == 3);
  CHECK_FALSE(memory.asynchronous());
}

TEST_CASE("telemetry has a first sample however short the cell, and leaves out what fails") {
  std::atomic<int> taken{0};
  TelemetrySampler sampler(
      [&]() -> NvmlSample {
        if (taken++ == 1) throw DeviceError("the card does not answer");
        NvmlSample sample;
        sample.power_w = 100;
        return sample;
      },
      engine::Nanos{1000});
  while (taken < 4) std::this_thread::yield();
  const auto rows = sampler.stop();
  REQUIRE(rows.size() >= 3);
  CHECK(rows[0].sample.power_w == 100);
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i].t >= rows[i - 1].t);

  TelemetrySampler brief([] { return NvmlSample{}; }, std::chrono::hours(1));
  CHECK(brief.stop().size() == 1);
}

TEST_CASE("a form factor is read from a device name that states one") {
  const std::map<std::string, std::string> known = {
      {"NVIDIA A100-SXM4-40GB", "sxm"},    {"NVIDIA A100-PCIE-40GB", "pcie"},
      {"NVIDIA A100 80GB PCIe", "pcie"},   {"NVIDIA H100 80GB HBM3", "sxm"},
      {"NVIDIA H100 PCIe", "pcie"},        {"NVIDIA H200", "sxm"},
      {"NVIDIA H200 NVL", "pcie"},         {"NVIDIA L40S", "pcie"},
      {"NVIDIA GeForce RTX 5090", "pcie"}, {"NVIDIA GB10", ""}};
  for (const auto& [name, form] : known) CHECK(form_factor_of(name) == form);
}

namespace {

using cuda::GemmTable;

/// A temporary folder, removed at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("gemms-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  GemmTable table(const std::string& device = "NVIDIA H200") const {
    return {path_ / "deep", device, "cublasLt 130100"};
  }

 private:
  std::filesystem::path path_;
};

constexpr GemmTable::Key kShape = {16, 6144, 4096, 6144, 0, 0},
                         kOther = {32, 6144, 4096, 6144, 0, 0};
constexpr GemmTable::Algorithm kAlgorithm = {1, 0xfedcba9876543210, 3, 0, 5, 6, 7, 8};

}  // namespace

TEST_CASE("measured algorithms are kept for later processes, for the same GPU only") {
  const Folder folder;
  GemmTable measured = folder.table();
  measured.insert(kShape, kAlgorithm);
  CHECK(measured.find(kShape) == kAlgorithm);
  measured.save();
  const GemmTable again = folder.table();
  CHECK(again.find(kShape) == kAlgorithm);
  CHECK_FALSE(again.find(kOther));
  CHECK(folder.table("NVIDIA H100 80GB HBM3").size() == 0);
}

TEST_CASE("a table without a folder keeps its entries but has no file") {
  GemmTable table;
  table.insert(kShape, kAlgorithm);
  table.save();
  CHECK(table.find(kShape) == kAlgorithm);
  CHECK(table.file().empty());
}

TEST_CASE("a file that is no table of algorithms is refused with its line") {
  const Folder folder;
  GemmTable measured = folder.table();
  measured.insert(kShape, kAlgorithm);
  measured.save();
  const auto damaged =
      GENERATE(as<std::string>(), "16 6144 4096", "16 6144 4096 6144 0 0 1 2 3 4 5",
               "16 6144 4096 6144 0 0 1 2 3 4 5 6 7 8 9", "rows n k");
  std::ofstream(measured.file(), std::ios::app) << damaged << '\n';
  CHECK_THROWS_WITH(folder.table(), Contains(measured.file().string() + ":3: not a table") &&
                                        Contains(damaged) && Contains("delete the file"));
  std::ofstream(measured.file()) << "something else\n";
  CHECK_THROWS_WITH(folder.table(), Contains(":1: not a table"));
}

TEST_CASE("a folder that cannot be written to is named") {
  GemmTable table("/proc/nowhere", "NVIDIA H200", "cublasLt 130100");
  table.insert(kShape, kAlgorithm);
  CHECK_THROWS_WITH(table.save(), Contains("/proc/nowhere") && Contains("cannot write"));
}
