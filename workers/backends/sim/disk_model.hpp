#pragma once
#include <algorithm>
#include <cstdint>

#include "workers/engine/step/block_disk.hpp"

namespace backends {

/// A disk on the host. By default about a datacenter NVMe drive of PCIe 4.
struct DiskRates {
  double read_gb_s = 6.8;  // GB/s = 10^9 bytes/s
  double write_gb_s = 5.6;
  double latency_us = 100;  // of one block, without its bytes
  std::int64_t queue = 32;  // blocks that it serves at once
  std::int64_t bytes_per_block = 0;
};

/// Stores nothing: says when a disk of these rates would be done. Each direction serves one batch
/// at a time, in order, and neither slows the other down. A batch takes the latency of its first
/// blocks, and then what its bytes take, or the latencies of the blocks that the queue had no room
/// for, whichever is longer.
class DiskModel final : public engine::BlockDisk {
 public:
  explicit DiskModel(const DiskRates& rates) : rates_(rates) {}

  engine::Nanos write(std::span<const engine::DiskCopy> copies, engine::Nanos now) override {
    return serve(writes_end_, std::ssize(copies), rates_.write_gb_s, now);
  }
  engine::Nanos read(std::span<const engine::DiskCopy> copies, engine::Nanos now) override {
    return serve(reads_end_, std::ssize(copies), rates_.read_gb_s, now);
  }

 private:
  engine::Nanos serve(engine::Nanos& end, std::int64_t blocks, double gb_s,
                      engine::Nanos now) const {
    const double bytes = static_cast<double>(blocks) * static_cast<double>(rates_.bytes_per_block);
    const double latency_s = rates_.latency_us * 1e-6;
    const auto later_rounds = static_cast<double>((blocks - 1) / rates_.queue);
    const double seconds = latency_s + std::max(bytes / (gb_s * 1e9), later_rounds * latency_s);
    end = std::max(end, now) + engine::from_seconds(seconds);
    return end;
  }

  DiskRates rates_;
  engine::Nanos writes_end_{0}, reads_end_{0};
};

}  // namespace backends
