#pragma once

/// What the current device can do; all devices of a process are taken to be alike.
namespace kernels::gpu {

/// Whether kernels of wgmma.cuh's instructions were compiled (for sm_90a) and the device runs them.
bool has_wgmma();
int multiprocessors();

}  // namespace kernels::gpu
