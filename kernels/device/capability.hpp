#pragma once

/// Capabilities of the current device. All devices of a process are assumed to be alike.
namespace kernels::gpu {

/// Whether kernels with the instructions of wgmma.cuh were compiled (for sm_90a) and the device
/// runs them.
bool has_wgmma();
int multiprocessors();

}  // namespace kernels::gpu
