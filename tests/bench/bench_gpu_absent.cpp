#include "tests/bench/bench_gpu.hpp"

namespace worker {

std::vector<RequestLength> read_lengths(const std::filesystem::path&) { return {}; }

void measure_gpu(const GpuBench&, const OnFigure&) {
  throw InputError("this program was built without CUDA");
}

}  // namespace worker
