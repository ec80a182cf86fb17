#include "tests/bench/ceilings.hpp"

#include <algorithm>

#include "kernels/layers/layers.hpp"
#include "tests/bench/read_memory.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/forward/gemm.hpp"

namespace backends {
namespace cuda {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

/// Shortest time of what `work` enqueues, in seconds.
template <class Work>
double best_seconds(const Stream& stream, const Work& work) {
  Event start, end;
  double best = 1e9;
  for (int i = 0; i < 8; ++i) {
    start.record(stream);
    work();
    end.record(stream);
    end.synchronize();
    if (i > 1) best = std::min(best, Event::seconds_between(start, end));
  }
  return best;
}

void fill(const DeviceBuffer& memory, std::uint32_t parameter, const Stream& stream) {
  kernels::gpu::fill_random({.type = kernels::gpu::Type::bf16,
                             .elements = static_cast<std::int64_t>(memory.bytes() / 2),
                             .seed = 1,
                             .parameter = parameter,
                             .amplitude = 1,
                             .out = memory.data()},
                            stream.get());
}

void memory_rates(Ceilings& ceilings, const Stream& stream) {
  const DeviceBuffer from(2 * kGiB), to(2 * kGiB), sink(sizeof(unsigned));
  fill(from, 0, stream);
  const auto bytes = static_cast<double>(from.bytes());
  const double copy = best_seconds(stream, [&] {
    check(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice,
                          stream.get()),
          "copying device memory");
  });
  const double read = best_seconds(stream, [&] {
    kernels::gpu::read_memory(from.data(), from.bytes(), sink.as<unsigned>(), stream.get());
  });
  ceilings.copy_gb_s = 2e-9 * bytes / copy;
  ceilings.read_gb_s = 1e-9 * bytes / read;
}

void product_rate(Ceilings& ceilings, const Stream& stream) {
  constexpr int kSize = 8192;
  const DeviceBuffer x(2 * kSize * kSize), w(x.bytes()), y(x.bytes());
  fill(x, 1, stream);
  fill(w, 2, stream);
  GemmTable table;
  Gemm gemm(stream, table);
  const GemmShape shape{.rows = kSize, .n = kSize, .k = kSize, .y_stride = kSize};
  const void* const weights = w.data();
  gemm.tune(shape, x.data(), {&weights, 1}, y.data());
  const auto multiply = [&](int times) {
    for (int i = 0; i < times; ++i) gemm.multiply(shape, x.data(), w.data(), y.data());
  };
  const double once = best_seconds(stream, [&] { multiply(1); });
  constexpr double kSettle = 0.5;  // seconds, for the power limit to act
  const int times = std::max(1, static_cast<int>(kSettle / once));
  Event start, end;
  multiply(times);
  start.record(stream);
  multiply(times);
  end.record(stream);
  end.synchronize();
  constexpr double kTflop = 2e-12 * kSize * kSize * kSize;
  ceilings.gemm_tflop_s = kTflop / once;
  ceilings.sustained_gemm_tflop_s = kTflop * times / Event::seconds_between(start, end);
}

void link_rates(Ceilings& ceilings, const Stream& stream) {
  const DeviceBuffer device(kGiB);
  const PinnedBuffer host(kGiB);
  const Stream other;
  Event started, done;
  const std::size_t half = kGiB / 2;
  const auto load = [&](std::size_t bytes) {
    check(cudaMemcpyAsync(device.data(), host.data(), bytes, cudaMemcpyHostToDevice, stream.get()),
          "copying to the device");
  };
  const auto store = [&](const Stream& on, std::size_t bytes) {
    check(cudaMemcpyAsync(host.data() + kGiB - bytes, device.data() + kGiB - bytes, bytes,
                          cudaMemcpyDeviceToHost, on.get()),
          "copying to the host");
  };
  constexpr double kBytes = static_cast<double>(kGiB);
  ceilings.to_device_gb_s = 1e-9 * kBytes / best_seconds(stream, [&] { load(kGiB); });
  ceilings.to_host_gb_s = 1e-9 * kBytes / best_seconds(stream, [&] { store(stream, kGiB); });
  ceilings.both_ways_gb_s = 1e-9 * kBytes / best_seconds(stream, [&] {
                              started.record(stream);
                              order_after(other, started);
                              store(other, half);
                              load(half);
                              done.record(other);
                              order_after(stream, done);
                            });
}

}  // namespace
}  // namespace cuda

Ceilings measure_ceilings(int ordinal) {
  cuda::check(cudaSetDevice(ordinal), "choosing the device");
  const cuda::Stream stream;
  Ceilings ceilings;
  cuda::memory_rates(ceilings, stream);
  cuda::product_rate(ceilings, stream);
  cuda::link_rates(ceilings, stream);
  return ceilings;
}

}  // namespace backends
