#pragma once
#include <string>

#include "workers/backends/cuda/cuda_device.hpp"

namespace backends::cuda {

/// Describes a device from CUDA, the kernel and, if given, NVML.
DeviceInfo describe_device(int ordinal, const Nvml* nvml);

/// "13.0" of CUDA's number 13000.
std::string cuda_version_text(int version);

}  // namespace backends::cuda
