#pragma once
#include <memory>
#include <optional>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/execution.hpp"

namespace worker {

/// How the cuda backend is set up for a cell.
backends::CudaCellOptions cuda_cell_options(const ExperimentConfig& config);

/// Puts the cell's weights on the device unless they are there already. With a group, rank 0's are
/// sent to the other ranks. Throws engine::InputError, backends::DeviceOutOfMemory and
/// backends::DeviceLost.
backends::WeightsReport load_cuda_weights(const ExperimentConfig& config,
                                          backends::CudaDevice& device,
                                          const std::optional<backends::NcclGroup>& group);

/// The real model on this process's GPU, by the wall clock. `weights` says how those came there;
/// `device` outlives the execution. Throws as above.
std::unique_ptr<Execution> make_cuda_execution(const ExperimentConfig& config,
                                               backends::CudaDevice& device,
                                               const backends::WeightsReport& weights);

}  // namespace worker
