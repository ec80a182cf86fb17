#include "kernels/layers/layers.hpp"
#include "tests/gpu/backend/gpu_world.hpp"

using namespace gpu_backend_test;

// Destroys the context of its process, so it must run alone, as with ctest.
TEST_CASE("an illegal address loses the device, and every later step says so", "[lost]") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  const auto backend = make_backend(weights, small_cell(64));
  Steps steps;
  engine::Request& request = steps.request(some_tokens(20, 517), {1, 2});
  backend->execute(steps.step({{request, 0, 20}}));
  // A block id far beyond the pool.
  engine::Request& astray = steps.request(some_tokens(20, 517), {900'000'000, 900'000'001});
  CHECK_THROWS_AS(backend->execute(steps.step({{astray, 0, 20}})), backends::DeviceLost);
  CHECK_THROWS_AS(backend->execute(steps.step({{request, 0, 20}})), backends::DeviceLost);
}
