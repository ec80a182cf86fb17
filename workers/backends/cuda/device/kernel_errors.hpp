#pragma once
#include "kernels/device/types.hpp"
#include "workers/backends/cuda/device/errors.hpp"
#include "workers/backends/cuda/device/handles.hpp"

namespace backends::cuda {

/// Converts the error type of kernel launchers to the backend's.
template <class Work>
void with_device_errors(const Work& work) {
  try {
    work();
  } catch (const kernels::gpu::CudaError& error) {
    check(error.code(), error.what());
    throw DeviceError(error.what());
  }
}

}  // namespace backends::cuda
