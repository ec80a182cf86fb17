#pragma once
#include <string>

#include "workers/backends/cuda/cuda_device.hpp"

namespace backends::cuda {

/// Reads CUDA's, the kernel's and, if given, NVML's description of a device.
DeviceInfo describe_device(int ordinal, const Nvml* nvml);

/// "13.0" of CUDA's number 13000.
std::string cuda_version_text(int version);

}  // namespace backends::cuda
