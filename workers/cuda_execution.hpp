#pragma once
#include <memory>
#include <optional>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/execution.hpp"

namespace worker {

/// The real model on this process's GPU, by the wall clock. Puts the weights there unless they are
/// there already. `group`, if given, sends rank 0's weights to the other ranks. `device` outlives
/// the execution. Throws engine::InputError, backends::DeviceOutOfMemory and backends::DeviceLost.
std::unique_ptr<Execution> make_cuda_execution(const ExperimentConfig& config,
                                               backends::CudaDevice& device,
                                               const std::optional<backends::NcclGroup>& group);

}  // namespace worker
