#include "workers/rank/ready_worker.hpp"

#include <cstring>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/backends/cuda/device/errors.hpp"
#include "workers/binding/binding.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/rank/cell_job.hpp"
#include "workers/rank/sku_detector.hpp"

namespace worker {
namespace {

/// The device of this node's worker number `local_worker`, counted from 0.
const backends::DeviceInfo& device_for(int local_worker, const std::string& backend,
                                       const backends::DriverDevices& visible) {
  const std::size_t devices = visible.devices.size();
  if (devices == 0)
    throw engine::InputError("backend " + backend + " needs a GPU: " + visible.problem);
  if (devices == 1) return visible.devices.front();
  const auto number = static_cast<std::size_t>(local_worker);
  if (number < devices) return visible.devices[number];
  throw engine::InputError("this node shows " + std::to_string(devices) +
                           " GPUs, which is too few for its worker number " +
                           std::to_string(number + 1) + ": start one worker a GPU");
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
  const backends::DriverDevices visible = backends::probe_cuda().driver;
  const backends::DeviceInfo& device = device_for(local_worker, hello.backend, visible);
  identify_as(hello, device, profiles);
  executor->set_server_devices(device.card ? device.card->uuid : std::to_string(device.ordinal));
  return {std::move(hello), std::move(executor)};
}

}  // namespace

void require_built(const std::string& backend) {
  if (backend == "cuda" && backends::cuda_runtime_version().empty())
    backends::open_cuda_device(0);  // says so
}

ReadyWorker prepare_worker(Hello hello, const std::string& backend, int local_worker,
                           const std::filesystem::path& profiles,
                           const std::filesystem::path& cache) {
  hello.backend = backend;
  if (backend == "server") return prepare_for_server(std::move(hello), local_worker, profiles);
  if (backend != "cuda") return {std::move(hello), std::make_shared<Executor>()};
  require_built(backend);
  const backends::DriverDevices visible = backends::probe_cuda().driver;
  auto device =
      backends::open_cuda_device(device_for(local_worker, backend, visible).ordinal, cache);
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
  const CellJob job = decode_jobs(welcome.model_of).front();
  Profiles profiles(job.profiles);
  executor.load(bind(job.params, job.record.backend, job.record.seed, profiles).config, group);
}

}  // namespace worker
