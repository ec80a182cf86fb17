#pragma once
#include <cuda.h>

#include "kernels/device/mma.cuh"

/// Copies of boxes of a matrix to shared memory by the copy engine (TMA), and the barriers that
/// they complete on: thin wrappers of PTX (PTX ISA, "mbarrier", "cp.async.bulk.tensor"). All need
/// compute capability 9.0. Addresses are of shared memory.
namespace kernels::gpu {

/// Initializes a barrier for `count` arrivals per phase. One thread initializes barriers, then
/// makes them visible to all.
__device__ inline void set_up_barrier(std::uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(count) : "memory");
}
__device__ inline void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

__device__ inline void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}
/// Arrives, and makes the phase also wait for `bytes` bytes of copies.
__device__ inline void arrive_for_copies(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits until the barrier's phase of this parity has completed; returns at once when the barrier
/// is in the next phase. A new barrier counts as past parity 1.
__device__ inline void await_phase(std::uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred over;\n"
      "await:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra await;\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Cache policies of copies: data that is read once is evicted first.
__device__ inline std::uint64_t read_once() {
  std::uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\n" : "=l"(policy));
  return policy;
}
__device__ inline std::uint64_t read_again() {
  std::uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;\n" : "=l"(policy));
  return policy;
}

/// Makes this thread's ordinary stores to shared memory visible to later products or copies.
__device__ inline void show_stores() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

__device__ inline void fetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(&map) : "memory");
}
/// Enqueues the copy of a box that begins at (x, y), (x, y, z) or (0, 0, 0, last).
__device__ inline void copy_box(std::uint32_t to, const CUtensorMap& map, int x, int y,
                                std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];\n" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}
__device__ inline void copy_box(std::uint32_t to, const CUtensorMap& map, int x, int y, int z,
                                std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];\n" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

__device__ inline void copy_box(std::uint32_t to, const CUtensorMap& map, int last,
                                std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %2, %2, %3}], [%4];\n" ::"r"(to),
      "l"(&map), "r"(0), "r"(last), "r"(barrier)
      : "memory");
}

/// Enqueues the copy of gate rows and up rows, alternating in groups of eight, from column x and
/// output 8 eight on, of a map of w in such groups.
__device__ inline void copy_gate_and_up(std::uint32_t to, const CUtensorMap& map, int x, int eight,
                                        std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, %3, %4}], [%5], %6;\n" ::"r"(to),
      "l"(&map), "r"(x), "r"(0), "r"(eight), "r"(barrier), "l"(policy)
      : "memory");
}

/// The n-th use of a ring of buffers: the index of the buffer, and the parity of its barriers'
/// phase.
template <int kStages>
struct Turn {
  int stage = 0, parity = 0;
  __device__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

}  // namespace kernels::gpu
