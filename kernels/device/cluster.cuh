#pragma once
#include <cuda.h>

#include "kernels/device/mma.cuh"

/// Clusters of two CTAs, which reach each other's shared memory: thin wrappers of PTX (PTX ISA,
/// "Cluster", "mbarrier", "cp.async.bulk.tensor"). All need compute capability 9.0. An address of
/// shared memory means the same place in both CTAs.
namespace kernels::gpu {

constexpr int kPair = 2;  // CTAs of a cluster

__device__ inline int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}
/// Waits for all threads of both CTAs, and shows them each other's stores.
__device__ inline void sync_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\n" ::
          : "memory");
}
/// Arrives at this barrier of the CTA of this rank.
__device__ inline void arrive_at(std::uint32_t barrier, int rank) {
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

/// Enqueues the copy of a box that begins at (x, y) to both CTAs. Each CTA's own barrier counts the
/// bytes that arrive there.
__device__ inline void copy_box_to_both(std::uint32_t to, const CUtensorMap& map, int x, int y,
                                        std::uint32_t barrier) {
  constexpr std::uint16_t kBoth = 3;
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(kBoth)
      : "memory");
}

}  // namespace kernels::gpu
