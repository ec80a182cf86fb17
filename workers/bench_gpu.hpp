#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "workers/backends/cuda/ceilings.hpp"
#include "workers/experiment.hpp"

namespace worker {

/// One figure of a GPU, beside what the device could reach at best.
struct GpuFigure {
  std::string what;  // "decode, context 1024, 32 sequences"
  double value = 0;
  std::string unit;             // "ms", "GB/s", ...
  std::optional<double> bound;  // in the same unit: the floor of a time, the ceiling of a rate
};
using OnFigure = std::function<void(const GpuFigure&)>;

/// A request of the offline mix: tokens in and out.
struct RequestLength {
  int prompt = 0;
  int output = 0;
};
/// Reads a line a request, two numbers each. Throws engine::InputError naming file and line.
std::vector<RequestLength> read_lengths(const std::filesystem::path& file);

struct GpuBench {
  const ExperimentConfig& config;      // of a cuda cell: model, weights, engine
  std::filesystem::path cache;         // as open_cuda_device() takes it
  std::vector<RequestLength> offline;  // empty: left out
  int repeats = 20;                    // of a step; medians are reported
};

/// Measures device 0: ceilings, decode and prefill steps, copies to and from the host tier, decode
/// beside copies, and serving the offline mix. Figures are reported as they come. Throws what the
/// cuda backend throws.
void measure_gpu(const GpuBench& bench, const OnFigure& report);

}  // namespace worker
