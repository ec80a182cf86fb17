#pragma once

/// Programmatic dependent launch (CUDA Programming Guide, "Programmatic Dependent Launch and
/// Synchronization"; PTX ISA, "griddepcontrol"): a kernel may start while the one ahead of it on
/// the stream ends, so that neither its launch nor its first loads cost time. A kernel that has
/// ended has waited for its own predecessor, so a kernel that waited for it sees the writes of all
/// before. Both calls do nothing before compute capability 9.0.
namespace kernels::gpu {

/// Until the kernel ahead on the stream is over and what it wrote can be read. Before that a kernel
/// may only touch what no kernel of the step writes.
__device__ inline void wait_for_predecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The kernel behind may start once every CTA has called this, or is over.
__device__ inline void release_successor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Both: for kernels that have nothing to do before the wait.
__device__ inline void take_turn() {
  release_successor();
  wait_for_predecessor();
}

}  // namespace kernels::gpu
