#pragma once
#include <initializer_list>

/// Capabilities of the current device. All devices of a process are assumed to be alike.
namespace kernels::gpu {

/// Whether kernels with the instructions of wgmma.cuh were compiled (for sm_90a) and the device
/// runs them.
bool has_wgmma();
/// Whether the device supports programmatic dependent launch (compute capability 9.0).
bool has_dependent_launch();
int multiprocessors();
/// The smallest of `tiles`, in ascending order, with which n outputs need at most one CTA per
/// multiprocessor, else the last.
int one_wave_tile(std::initializer_list<int> tiles, int n);
/// Most bytes of shared memory that a CTA may have.
int most_shared_bytes();

}  // namespace kernels::gpu
