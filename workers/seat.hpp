#pragma once
#include <filesystem>
#include <memory>

#include "workers/execution.hpp"
#include "workers/protocol.hpp"

namespace worker {

/// A worker ready to serve: what it says of itself and what it runs cells with.
struct Seat {
  Hello hello;
  std::shared_ptr<Executor> executor;
};

/// On cuda, opens the GPU of the worker that is number `local_worker` on its node, and says which
/// SKU it is unless `hello` says so already. Where a launcher shows each process one GPU, that is
/// it. `cache` is where that GPU's measured algorithms are kept, as open_cuda_device() takes it.
/// Throws engine::InputError: no GPU is left for this worker, or the card is no known SKU.
Seat take_seat(Hello hello, const std::string& backend, int local_worker,
               const std::filesystem::path& profiles, const std::filesystem::path& cache = {});

/// 128 bytes that name a group of workers which get their weights from the first; empty where
/// NCCL is not built in or cannot start.
std::string new_weights_group();

/// Loads the model that the driver's welcome names, together with the other workers.
void load_model(const Welcome& welcome, Executor& executor);

}  // namespace worker
