#include "tests/gpu/kernels/timing.hpp"

#include <algorithm>
#include <cstdio>

#include "kernels/layers/layers.hpp"

namespace gpu_timing {
namespace {

double copy_rate = 0;  // GB/s, read and written

}  // namespace

Memory random_numbers(std::int64_t elements) {
  Memory memory(static_cast<std::size_t>(elements) * 2);
  gpu::FillRandom fill;
  fill.elements = elements;
  fill.amplitude = 1;
  fill.out = memory.get();
  gpu::fill_random(fill, nullptr);
  return memory;
}

double microseconds(int inside, const std::function<void(cudaStream_t)>& work) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaEvent_t begin, end;
  check(cudaDeviceSynchronize(), "set-up");
  check(cudaStreamCreate(&stream), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  work(stream);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int i = 0; i < 13; ++i) {
    check(cudaEventRecord(begin, stream), "record");
    check(cudaGraphLaunch(replay, stream), "launch");
    check(cudaEventRecord(end, stream), "record");
    check(cudaEventSynchronize(end), "synchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "elapsed");
    if (i >= 3) times.push_back(milliseconds);  // the first ones warm up the clocks
  }
  cudaEventDestroy(end);
  cudaEventDestroy(begin);
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  std::sort(times.begin(), times.end());
  return 1e3 * double{times[times.size() / 2]} / inside;
}

void print_bytes(const char* what, double us, double bytes) {
  const double rate = bytes / us / 1e3;
  std::printf("%-44s %10.2f us %8.0f GB/s %6.1f %% of the copy rate\n", what, us, rate,
              100 * rate / copy_rate);
}

/// Outside a graph, because in a graph copies run on the multiprocessors instead of a copy engine.
void time_copy() {
  const std::size_t bytes = std::size_t{2} << 30;
  const Memory from = random_numbers(bytes / 2), to(bytes);
  float best = 1e9f;
  for (int i = 0; i < 10; ++i) {
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
    check(cudaEventRecord(begin), "record");
    check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice), "copy");
    check(cudaEventRecord(end), "record");
    check(cudaEventSynchronize(end), "synchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "elapsed");
    best = std::min(best, milliseconds);
    cudaEventDestroy(end);
    cudaEventDestroy(begin);
  }
  copy_rate = 2.0 * static_cast<double>(bytes) / best / 1e6;
  std::printf("copy rate %.0f GB/s\n", copy_rate);
}

}  // namespace gpu_timing
