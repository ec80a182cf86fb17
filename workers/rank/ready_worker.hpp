#pragma once
#include <filesystem>
#include <memory>

#include "workers/cell/execution.hpp"
#include "workers/rank/protocol.hpp"

namespace worker {

/// A worker ready to serve: its description and the executor of its cells.
struct ReadyWorker {
  Hello hello;
  std::shared_ptr<Executor> executor;
};

/// Throws engine::InputError when the program was built without the backend.
void require_built(const std::string& backend);

/// On cuda, opens the GPU of worker number `local_worker` of its node, and sets its SKU unless
/// `hello` has one. When a launcher shows each process one GPU, opens that one. `cache` is the
/// folder of measured algorithms, as for open_cuda_device(). Throws engine::InputError when no GPU
/// is left for this worker, or when the card matches no SKU.
ReadyWorker prepare_worker(Hello hello, const std::string& backend, int local_worker,
                           const std::filesystem::path& profiles,
                           const std::filesystem::path& cache = {});

/// A 128-byte id of a group of workers that receive their weights from the first; empty when NCCL
/// is not built in or cannot start.
std::string new_weights_group();

/// Loads the model named by the driver's welcome before the first cell: all workers of its group
/// must call it at the same time.
void load_model(const Welcome& welcome, Executor& executor);

}  // namespace worker
