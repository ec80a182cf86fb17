#include "workers/rank/ready_worker.hpp"

#include <cstring>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/backends/cuda/device/errors.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/rank/cell_job.hpp"
#include "workers/rank/sku_detector.hpp"

namespace worker {
namespace {

int ordinal_for(int local_worker, const std::string& backend) {
  const backends::CudaProbe probe = backends::probe_cuda();
  const auto devices = static_cast<int>(probe.devices.size());
  if (devices == 0)
    throw engine::InputError("backend " + backend + " needs a GPU: " + probe.problem);
  if (devices == 1) return 0;
  if (local_worker < devices) return local_worker;
  throw engine::InputError("this node shows " + std::to_string(devices) +
                           " GPUs, which is too few for its worker number " +
                           std::to_string(local_worker + 1) + ": start one worker a GPU");
}

void identify_as(Hello& hello, const backends::DeviceInfo& info,
                 const std::filesystem::path& profiles) {
  hello.device_id = info.pci_bus_id;
  if (info.card) hello.device_uuid = info.card->uuid;
  if (!hello.sku.empty()) return;
  const DeviceIdentity device = identify(info);
  hello.sku = detect_sku(profiles, device);
  hello.sku_source = "device";
  hello.device_name = device.name;
  hello.device_mib = device.memory_mib;
}

/// A worker gives its server one GPU, which it looks at but does not open. With --as-sku or
/// --fake-device it needs none.
ReadyWorker prepare_for_server(Hello hello, int local_worker,
                               const std::filesystem::path& profiles) {
  auto executor = std::make_shared<Executor>();
  if (!hello.sku.empty()) return {std::move(hello), std::move(executor)};
  const int ordinal = ordinal_for(local_worker, hello.backend);
  const backends::CudaProbe probe = backends::probe_cuda();
  const backends::DeviceInfo& device = probe.devices[static_cast<std::size_t>(ordinal)];
  identify_as(hello, device, profiles);
  executor->set_server_devices(device.card ? device.card->uuid : std::to_string(ordinal));
  return {std::move(hello), std::move(executor)};
}

}  // namespace

ReadyWorker prepare_worker(Hello hello, const std::string& backend, int local_worker,
                           const std::filesystem::path& profiles,
                           const std::filesystem::path& cache) {
  hello.backend = backend;
  if (backend == "server") return prepare_for_server(std::move(hello), local_worker, profiles);
  if (backend != "cuda") return {std::move(hello), std::make_shared<Executor>()};
  auto device = backends::open_cuda_device(ordinal_for(local_worker, backend), cache);
  identify_as(hello, device->info(), profiles);
  return {std::move(hello), std::make_shared<Executor>(std::move(device))};
}

std::string new_weights_group() {
  if (backends::nccl_version().empty()) return {};
  try {
    const backends::NcclId id = backends::make_nccl_id();
    return {reinterpret_cast<const char*>(id.data()), id.size()};
  } catch (const backends::DeviceError&) {
    return {};  // every worker then reads the weights by itself
  }
}

void load_model(const Welcome& welcome, Executor& executor) {
  if (welcome.model_of.empty()) return;
  std::optional<backends::NcclGroup> group;
  if (welcome.weights_group.size() == backends::NcclId{}.size() && welcome.group_size > 1) {
    group.emplace();
    std::memcpy(group->id.data(), welcome.weights_group.data(), group->id.size());
    group->rank = welcome.group_rank;
    group->size = welcome.group_size;
  }
  load_model_of(welcome.model_of, executor, group);
}

}  // namespace worker
