#include <limits>

#include "tests/gpu/backend/gpu_world.hpp"
#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/backends/cuda/device/cublas_lt.hpp"
#include "workers/backends/errors.hpp"
#include "workers/engine/base/errors.hpp"

using namespace gpu_backend_test;
using backends::CudaCellOptions;
using backends::DeviceOutOfMemory;
using backends::open_cuda_device;
using Catch::Matchers::Contains;

namespace {

/// An open device with the small Llama loaded.
struct DeviceWorld {
  explicit DeviceWorld(model::DType dtype = model::DType::bf16)
      : config(small_model(model::Architecture::llama, dtype)),
        source(model::random_weights(config, 1)),
        device(open_cuda_device(0)) {
    report = device->load_weights(config, {.source = *source, .seed = 1, .group = {}});
  }
  model::ModelConfig config;
  std::unique_ptr<model::WeightSource> source;
  std::unique_ptr<backends::CudaDevice> device;
  backends::WeightsReport report;
};

/// The token that a cell's backend samples after a prompt.
engine::TokenId first_token(backends::CudaCell& cell) {
  Steps steps;
  engine::Request& request = steps.request(some_tokens(40, 517), blocks_from(1, 3));
  return cell.backend().execute(steps.step({{request, 0, 40, false, 3}})).sampled[0];
}

}  // namespace

TEST_CASE("a device tells what card it is, and NVML finds the same one by its PCI bus id") {
  NEEDS_DEVICE;
  const auto device = open_cuda_device(0);
  const backends::DeviceInfo& info = device->info();
  CHECK_FALSE(info.name.empty());
  CHECK(info.pci_bus_id.size() >= 12);
  CHECK(info.compute_capability >= 80);
  std::cout << info.name << ' ' << info.pci_bus_id << ", " << (info.memory_bytes >> 20)
            << " MiB, NUMA node " << info.numa_node << '\n';
  if (!info.card) return;
  CHECK(info.card->name == info.name);
  CHECK(info.card->memory_mib >= info.memory_bytes >> 20);
  std::cout << "NVML: " << info.card->memory_mib << " MiB, " << info.card->form_factor << ", "
            << info.card->power_limit_w << " W, driver " << info.card->driver << '\n';
}

TEST_CASE("a device that is not there is refused") {
  NEEDS_DEVICE;
  CHECK_THROWS_WITH(open_cuda_device(99), Contains("there is no CUDA device 99"));
}

TEST_CASE("weights made on the device are those that the host makes") {
  NEEDS_DEVICE;
  const auto dtype = GENERATE(model::DType::bf16, model::DType::f16);
  for (const auto architecture : {model::Architecture::llama, model::Architecture::opt}) {
    const model::ModelConfig config = small_model(architecture, dtype);
    const auto source = model::random_weights(config, 7);
    const backends::cuda::DeviceWeights made(config, {.source = *source, .seed = 7, .group = {}});
    const backends::cuda::DeviceWeights read(config, {.source = *source, .seed = {}, .group = {}});
    for (std::size_t i = 0; i < made.layout().parameters.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(made.layout().parameters[i].elements() * 2);
      std::vector<std::byte> one(bytes), other(bytes);
      backends::cuda::check(
          cudaMemcpy(one.data(), made.at(static_cast<int>(i)), bytes, cudaMemcpyDeviceToHost), "");
      backends::cuda::check(
          cudaMemcpy(other.data(), read.at(static_cast<int>(i)), bytes, cudaMemcpyDeviceToHost),
          "");
      CAPTURE(made.layout().parameters[i].name);
      CHECK((one == other));
    }
  }
}

TEST_CASE("weights that are loaded already are kept, others take their place") {
  NEEDS_DEVICE;
  DeviceWorld world;
  CHECK(world.report.seconds > 0);
  const auto again =
      world.device->load_weights(world.config, {.source = *world.source, .seed = 1, .group = {}});
  CHECK(again.seconds == 0);
  CHECK(again.bytes == world.report.bytes);
  const auto other = model::random_weights(world.config, 2);
  CHECK(
      world.device->load_weights(world.config, {.source = *other, .seed = 2, .group = {}}).seconds >
      0);
}

TEST_CASE("float32 models are refused") {
  NEEDS_DEVICE;
  CHECK_THROWS_WITH(DeviceWorld(model::DType::f32), Contains("bfloat16 or float16, found float32"));
}

TEST_CASE("a pool takes the share of memory that it may, or the tokens that it is told") {
  NEEDS_DEVICE;
  DeviceWorld world;
  CudaCellOptions options = small_cell(0);
  options.pool = {.memory_utilization = 0.5, .kv_tokens = 0};
  {
    const auto cell = world.device->make_cell(options);
    const backends::PoolPlan& pool = cell->pool();
    CHECK(pool.block_bytes == 3 * 2 * 2 * 64 * 16 * 2);
    CHECK(pool.device.used + pool.bytes() <= pool.device.total / 2);
    CHECK(pool.device.used + pool.bytes() + pool.block_bytes > pool.device.total / 2 - 1);
    first_token(*cell);
  }
  options.pool = {.memory_utilization = 0.5, .kv_tokens = 1000};
  const auto cell = world.device->make_cell(options);
  CHECK(cell->pool().num_blocks == 1000 / 16 + 1);
  CHECK(cell->pool().tokens() == 992);
  first_token(*cell);
}

TEST_CASE("a pool that does not fit is out of memory, and a smaller cell works afterwards") {
  NEEDS_DEVICE;
  DeviceWorld world;
  CudaCellOptions options = small_cell(64);
  engine::TokenId before;
  {
    const auto cell = world.device->make_cell(options);
    before = first_token(*cell);
  }
  CudaCellOptions huge = options;
  huge.pool.kv_tokens = (std::int64_t{1} << 42) / (3 * 2 * 2 * 64 * 2);  // 4 TiB
  CHECK_THROWS_AS(world.device->make_cell(huge), DeviceOutOfMemory);
  const auto cell = world.device->make_cell(options);
  CHECK(first_token(*cell) == before);
}

TEST_CASE("consecutive cells sample the same tokens and have pools of the same size") {
  NEEDS_DEVICE;
  DeviceWorld world;
  CudaCellOptions options = small_cell(0);
  options.pool = {.memory_utilization = 0.3, .kv_tokens = 0};
  int blocks = 0;
  engine::TokenId token = 0;
  for (int i = 0; i < 3; ++i) {
    const auto cell = world.device->make_cell(options);
    if (i == 0) {
      blocks = cell->pool().num_blocks;
      token = first_token(*cell);
    }
    // The driver keeps a little of the memory that it allocated.
    CHECK(std::abs(cell->pool().num_blocks - blocks) * cell->pool().block_bytes <= 64 << 20);
    CHECK(first_token(*cell) == token);
  }
}

TEST_CASE("host memory is locked in the background, grows from cell to cell and is kept") {
  NEEDS_DEVICE;
  DeviceWorld world;
  CudaCellOptions options = small_cell(64);
  options.host_slots = 5000;
  {
    const auto cell = world.device->make_cell(options);
    cell->host_memory()->wait_ready();
    CHECK(cell->host_memory()->locked_bytes() == cell->host_memory()->bytes());
    const auto slot = cell->host_memory()->slot(engine::HostSlot{4999});
    cudaPointerAttributes attributes{};
    backends::cuda::check(cudaPointerGetAttributes(&attributes, slot), "asking about a slot");
    CHECK(attributes.type == cudaMemoryTypeHost);
  }
  const auto cell = world.device->make_cell(options);
  CHECK(cell->host_memory()->locked_bytes() == cell->host_memory()->bytes());  // at once
}

TEST_CASE("block sizes and heads that the kernels do not know are refused") {
  NEEDS_DEVICE;
  DeviceWorld world;
  CudaCellOptions options = small_cell(64);
  options.block_size = 12;
  CHECK_THROWS_WITH(world.device->make_cell(options), Contains("multiple of 8 up to 1024"));
}

TEST_CASE("tokens and positions that the model does not have are refused before anything runs") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  const auto backend = make_backend(weights, small_cell(200));
  Steps steps;
  engine::Request& request = steps.request({1, 517}, {1});
  CHECK_THROWS_WITH(backend->execute(steps.step({{request, 0, 2}})),
                    Contains("small-llama has no token 517; allowed is 0 to 516"));
}

TEST_CASE("a step beyond the limits is refused, not truncated") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  const auto backend = make_backend(weights, small_cell(200));
  Steps steps;
  engine::Request& request = steps.request(some_tokens(600, 517), blocks_from(1, 40));
  CHECK_THROWS_WITH(backend->execute(steps.step({{request, 0, 600}})), Contains("exceeds the 512"));
}

TEST_CASE("NaN in the logits names the step and the layer that it comes from") {
  NEEDS_DEVICE;
  auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  const int down = weights.layout().layers[1].down_weight;
  backends::cuda::check(cudaMemset(const_cast<void*>(weights.at(down)), 0xff, 64),
                        "planting NaN in layer 1");
  const auto backend = make_backend(weights, small_cell(64));
  Steps steps;
  engine::Request& request = steps.request(some_tokens(20, 517), {1, 2});
  const std::string of_request = " of request " + std::to_string(engine::index(request.id));
  CHECK_THROWS_WITH(backend->execute(steps.step({{request, 0, 20}})),
                    Contains("step 1: layer 1 gives NaN") && Catch::Matchers::EndsWith(of_request));
}

TEST_CASE("reading unwritten KV is detected: a prefix that was never computed gives NaN", "[fp8]") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  const bool decode = GENERATE(true, false), fp8_kv = GENERATE(true, false);
  CudaCellOptions options = small_cell(64);
  options.fp8_kv = fp8_kv;
  const auto backend = make_backend(weights, options);
  CHECK(backend->block_bytes() == 3 * 2 * 2 * 64 * 16 * (fp8_kv ? 1 : 2));
  Steps steps;
  engine::Request& request = steps.request(some_tokens(40, 517), {1, 2, 3});
  CHECK_THROWS_AS(backend->execute(steps.step({{request, decode ? 39 : 32, 40, decode}})),
                  backends::NotFinite);
}

TEST_CASE("a request gets the same logits alone and beside others, prompts and decodes mixed") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::f16));
  const auto backend = make_backend(weights, small_cell(64));
  Steps steps;
  engine::Request& one = steps.request(some_tokens(50, 517, 3), blocks_from(1, 4));
  engine::Request& other = steps.request(some_tokens(70, 517, 9), blocks_from(10, 5));
  backend->execute(steps.step({{one, 0, 49}}));
  backend->execute(steps.step({{one, 49, 50, true}}));
  const std::vector<float> alone = backend->logits();
  backend->execute(steps.step({{one, 49, 50, true}, {other, 0, 70}}));
  const std::vector<float> beside = backend->logits();
  double worst = 0;
  for (std::size_t i = 0; i < alone.size(); ++i)
    worst = std::max<double>(worst, std::abs(alone[i] - beside[i]));
  CHECK(worst < 2e-2);
}

TEST_CASE("telemetry has a sample of the card however short the cell") {
  NEEDS_DEVICE;
  const auto device = open_cuda_device(0);
  const double joules = device->energy_j();
  const auto sampler = device->start_telemetry();
  if (sampler == nullptr) SKIP_TEST("no NVML");
  const std::vector<backends::TelemetryRow> rows = sampler->stop();
  REQUIRE(rows.size() >= 1);
  std::cout << "telemetry: " << (rows[0].sample.memory_used_bytes >> 20) << " MiB, "
            << rows[0].sample.sm_clock_mhz << " MHz, " << rows[0].sample.power_w << " W, "
            << rows[0].sample.temperature_c << " C\n";
  CHECK(rows[0].sample.memory_used_bytes > 0);
  CHECK_FALSE(device->energy_j() < joules);  // NaN where the card does not say
}

TEST_CASE("the library of matrix products is opened when it is needed, also without a device") {
  CHECK(backends::cuda::cublas_lt().GetVersion() / 10000 == CUBLAS_VER_MAJOR);
  cublasLtMatrixLayout_t layout = nullptr;
  CHECK(backends::cuda::cublas_lt().MatrixLayoutCreate(&layout, CUDA_R_16BF, 8, 8, 8) ==
        CUBLAS_STATUS_SUCCESS);
  backends::cuda::cublas_lt().MatrixLayoutDestroy(layout);
}
