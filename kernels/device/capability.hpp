#pragma once

/// Capabilities of the current device. All devices of a process are assumed to be alike.
namespace kernels::gpu {

/// Whether kernels with the instructions of wgmma.cuh were compiled (for sm_90a) and the device
/// runs them.
bool has_wgmma();
/// Whether the device supports programmatic dependent launch (compute capability 9.0).
bool can_overlap();
int multiprocessors();
/// Most bytes of shared memory that a CTA may have.
int most_shared_bytes();

}  // namespace kernels::gpu
