#include <cstring>
#include <future>
#include <thread>

#include "tests/gpu/backend/gpu_world.hpp"
#include "workers/backends/cuda/device/nccl_comm.hpp"

using namespace gpu_backend_test;
using backends::NcclGroup;
using backends::cuda::check;
using backends::cuda::DeviceWeights;

namespace {

/// About 4 GB in bfloat16.
model::ModelConfig wide_model() {
  model::ModelConfig config = small_model(model::Architecture::llama, model::DType::bf16, 128);
  config.shape.name = "wide-llama";
  config.shape.layers = 4;
  config.shape.hidden = 4096;
  config.shape.heads = 32;
  config.shape.kv_heads = 8;
  config.shape.intermediate = 14336;
  config.shape.vocab = 128256;
  return config;
}

std::vector<std::byte> bytes_of(const DeviceWeights& weights, int parameter) {
  const auto& p = weights.layout().parameters[static_cast<std::size_t>(parameter)];
  std::vector<std::byte> bytes(static_cast<std::size_t>(p.elements() * 2));
  check(cudaMemcpy(bytes.data(), weights.at(parameter), bytes.size(), cudaMemcpyDeviceToHost),
        "reading a parameter");
  return bytes;
}

}  // namespace

TEST_CASE("weights made on one device arrive on the other as they are") {
  NEEDS_DEVICE;
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "counting devices");
  if (devices < 2) SKIP_TEST("one device");
  if (backends::nccl_version().empty()) SKIP_TEST("built without NCCL");
  const model::ModelConfig config = wide_model();
  const auto source = model::random_weights(config, 1);
  const auto id = backends::make_nccl_id();
  const auto load = [&](int rank) {
    check(cudaSetDevice(rank), "choosing the device");
    return DeviceWeights(
        config,
        {.source = *source, .seed = 1, .group = NcclGroup{.id = id, .rank = rank, .size = 2}});
  };
  auto other = std::async(std::launch::async, load, 1);
  const DeviceWeights made = load(0);
  const DeviceWeights received = other.get();
  CHECK(made.report().seconds > 0);
  CHECK(received.report().seconds == 0);
  const backends::BroadcastReport& sent = received.report().broadcast;
  CHECK(sent.bytes == made.layout().bytes);
  std::cout << "NCCL " << backends::nccl_version() << ": " << sent.bytes << " bytes in "
            << sent.seconds << " s, " << sent.gb_s() << " GB/s, connected in "
            << sent.connect_seconds << " s\n";
  for (const int parameter :
       {made.layout().embedding, made.layout().layers[2].up_weight, made.layout().head}) {
    const std::vector<std::byte> bytes = bytes_of(made, parameter);
    CHECK((bytes_of(received, parameter) == bytes));
    CHECK(bytes[1000] != std::byte{0});
  }
  // The communicator is freed: the device holds little besides the weights.
  check(cudaSetDevice(1), "choosing the device");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  std::cout << "in use on the receiver: " << ((total - free) >> 20) << " MiB\n";
  CHECK(static_cast<std::int64_t>(total - free) < made.layout().bytes + (std::int64_t{3} << 30));
}

TEST_CASE("a group of one keeps what it has") {
  NEEDS_DEVICE;
  if (backends::nccl_version().empty()) SKIP_TEST("built without NCCL");
  const NcclGroup alone{.id = backends::make_nccl_id(), .rank = 0, .size = 1};
  backends::cuda::DeviceBuffer data(4096);
  check(cudaMemset(data.data(), 0x3c, data.bytes()), "filling");
  CHECK(backends::nccl_broadcast(alone, data.data(), 4096).bytes == 4096);
  std::vector<unsigned char> back(4096);
  check(cudaMemcpy(back.data(), data.data(), back.size(), cudaMemcpyDeviceToHost), "reading");
  CHECK(back == std::vector<unsigned char>(4096, 0x3c));
}
