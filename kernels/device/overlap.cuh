#pragma once

/// Programmatic dependent launch, PDL (CUDA Programming Guide, "Programmatic Dependent Launch and
/// Synchronization"; PTX ISA, "griddepcontrol"). A kernel may start while the previous one on the
/// stream ends, so that its launch and its first loads cost no time. A kernel only ends after it
/// has waited for its own predecessor, so a kernel that waits for it sees the writes of all earlier
/// ones. Both calls do nothing before compute capability 9.0.
namespace kernels::gpu {

/// Waits until the previous kernel on the stream has ended and its writes are visible. Before this
/// call a kernel may only access what no kernel of the step writes, or what was written before an
/// earlier kernel that lets the next one start only after its own wait: a kernel only starts when
/// all between have started.
__device__ inline void wait_for_predecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel on the stream start once every CTA has called this or ended.
__device__ inline void launch_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Both of the above, for kernels with nothing to do before the wait.
__device__ inline void launch_dependents_and_wait() {
  launch_dependents();
  wait_for_predecessor();
}

}  // namespace kernels::gpu
