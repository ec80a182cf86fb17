#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/ceilings.hpp"
#include "workers/cell/experiment.hpp"

namespace worker {

/// One figure of a GPU, with the best that the device could reach.
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
/// Reads one request per line, as two numbers. Throws engine::InputError naming file and line.
std::vector<RequestLength> read_lengths(const std::filesystem::path& file);

struct GpuBench {
  const ExperimentConfig& config;      // of a cuda cell: model, weights, engine
  std::filesystem::path cache;         // as for open_cuda_device()
  std::vector<RequestLength> offline;  // empty: not measured
  int repeats = 20;                    // repeats of a step; medians are reported
};

/// Measures device 0: ceilings, decode and prefill steps, copies to and from the host tier, decode
/// beside copies, and the offline mix. Reports each figure as soon as it is measured. Throws the
/// errors of the cuda backend.
void measure_gpu(const GpuBench& bench, const OnFigure& report);

}  // namespace worker
