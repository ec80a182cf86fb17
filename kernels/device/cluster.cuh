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
/// The first half of sync_cluster(), for threads that have stored nothing to show.
__device__ inline void arrive_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n" ::: "memory");
}
/// The second half.
__device__ inline void wait_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
/// Waits for all threads of both CTAs, and shows them each other's stores.
__device__ inline void sync_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\n" ::
          : "memory");
}
/// Stores four numbers at this address of the CTA of this rank.
__device__ inline void store_there(std::uint32_t address, int rank, const float (&v)[4]) {
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n}\n" ::"r"(address),
      "r"(rank), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
      : "memory");
}
__device__ inline float4 load_shared(std::uint32_t address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];\n"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
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
