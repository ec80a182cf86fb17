// Reads the device's nanoseconds at the host's request. The host knows when it asked and when it
// saw the answer, so the shortest of several rounds gives the offset between the two clocks.
#include "kernels/device/launch.cuh"
#include "kernels/log/clock.hpp"
#include "kernels/log/device_log.cuh"

namespace kernels::gpu {
namespace {

__global__ void read_clock_kernel(ClockExchange* exchange) {
  constexpr std::uint64_t kPatience = 1'000'000'000;
  for (int round = 0; round < ClockExchange::kRounds; ++round) {
    const std::uint64_t start = global_time();
    while (exchange->asked <= round)
      if (global_time() - start > kPatience) return;
    exchange->times[round] = global_time();
    __threadfence_system();
    exchange->answered = round + 1;
  }
}

}  // namespace

void read_clock(ClockExchange* exchange, cudaStream_t stream) {
  launch("read_clock", read_clock_kernel, {1, 1}, stream, exchange);
}

}  // namespace kernels::gpu
