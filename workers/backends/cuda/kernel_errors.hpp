#pragma once
#include "kernels/device/types.hpp"
#include "workers/backends/cuda/errors.hpp"
#include "workers/backends/cuda/handles.hpp"

namespace backends::cuda {

/// Launchers have an error type of their own; it becomes the backend's.
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
