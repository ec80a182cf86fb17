#pragma once
#include <memory>
#include <optional>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/cell/execution.hpp"

namespace worker {

/// The options of the cuda backend for a cell.
backends::CudaCellOptions cuda_cell_options(const ExperimentConfig& config);

/// Loads the cell's weights onto the device unless they are already there. With a group, rank 0's
/// weights are sent to the other ranks. Throws engine::InputError, backends::DeviceOutOfMemory and
/// backends::DeviceLost.
backends::WeightsReport load_cuda_weights(const ExperimentConfig& config,
                                          backends::CudaDevice& device,
                                          const std::optional<backends::NcclGroup>& group);

/// Executes the real model on this process's GPU, on the wall clock. `weights` reports how the
/// weights were loaded; `device` must outlive the execution. Throws as above.
std::unique_ptr<Execution> make_cuda_execution(const ExperimentConfig& config,
                                               backends::CudaDevice& device,
                                               const backends::WeightsReport& weights);

}  // namespace worker
