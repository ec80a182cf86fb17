#pragma once
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/device/capability.hpp"
#include "kernels/device/types.hpp"
#include "kernels/number.hpp"
#include "tests/support/catch.hpp"

/// Common parts of the tests of kernels on a GPU: poisoned memory, 16-bit numbers on the host, and
/// distances.
namespace gpu_test {

using kernels::gpu::Type;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Halves = std::vector<std::uint16_t>;  // numbers of a 16-bit type
using Bytes = std::vector<std::uint8_t>;    // numbers of e4m3, or an arena of KV

inline void check(cudaError_t code) { kernels::gpu::check(code, "a call of the test"); }

/// Why the tests cannot run here; empty if there is a device.
inline std::string no_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(code);
  return count > 0 ? "" : "no CUDA device";
}
#define NEEDS_DEVICE \
  if (const std::string reason = gpu_test::no_device(); !reason.empty()) SKIP_TEST(reason)
#define NEEDS_WGMMA               \
  NEEDS_DEVICE;                   \
  if (!kernels::gpu::has_wgmma()) \
  SKIP_TEST("this kernel needs compute capability 9.0, compiled for sm_90a")

/// Device memory, initialized to NaN in every type.
template <class T>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes() + 16));
    check(cudaMemset(data_, 0xff, bytes() + 16));
  }
  explicit Device(const std::vector<T>& from) : Device(from.size()) { *this = from; }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { cudaFree(data_); }

  Device& operator=(const std::vector<T>& from) {
    REQUIRE(from.size() == count_);
    check(cudaMemcpy(data_, from.data(), bytes(), cudaMemcpyHostToDevice));
    return *this;
  }
  std::vector<T> host() const {
    std::vector<T> to(count_);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(to.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return to;
  }
  void zero() { check(cudaMemset(data_, 0, bytes())); }
  void poison() { check(cudaMemset(data_, 0xff, bytes())); }
  T* get() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

inline Halves to_halves(Type type, const Floats& from) {
  Halves to;
  for (const float x : from)
    to.push_back(type == Type::bf16 ? kernels::from_float<kernels::Bf16>(x).bits
                                    : kernels::from_float<kernels::F16>(x).bits);
  return to;
}

inline Floats to_floats(Type type, const Halves& from) {
  Floats to;
  for (const std::uint16_t x : from)
    to.push_back(type == Type::bf16 ? kernels::to_float(kernels::Bf16{x})
                                    : kernels::to_float(kernels::F16{x}));
  return to;
}

inline Bytes to_bytes(const Floats& from) {
  Bytes to;
  for (const float x : from) to.push_back(kernels::from_float<kernels::E4m3>(x).bits);
  return to;
}

/// The numbers of an arena of the type, or of e4m3.
inline Floats kv_floats(Type type, bool e4m3, const Bytes& from) {
  Halves halves(from.size() / 2);
  std::memcpy(halves.data(), from.data(), 2 * halves.size());
  if (!e4m3) return to_floats(type, halves);
  Floats to;
  for (const std::uint8_t x : from) to.push_back(kernels::to_float(kernels::E4m3{x}));
  return to;
}

/// Numbers of mean 0 and variance 1 (nearly normal), from one seed.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : bits_(seed) {}
  float one() {
    float sum = 0;
    for (int i = 0; i < 3; ++i) sum += static_cast<float>(bits_() >> 40) * 0x1p-23f - 1;
    return sum;
  }
  Floats many(std::int64_t count) {
    Floats all(static_cast<std::size_t>(count));
    for (float& x : all) x = one();
    return all;
  }
  /// The same, rounded to a 16-bit type.
  Halves halves(Type type, std::int64_t count) { return to_halves(type, many(count)); }
  int below(int limit) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(limit)); }
  /// 0 .. count - 1 in random order.
  Ints shuffled(int count) {
    Ints all;
    for (int i = 0; i < count; ++i) all.push_back(i);
    for (int i = count; i > 1; --i)
      std::swap(all[static_cast<std::size_t>(i - 1)], all[static_cast<std::size_t>(below(i))]);
    return all;
  }

 private:
  std::mt19937_64 bits_;
};

/// |found - expected| / |expected|; NaN when anything found is NaN.
template <class Expected>
double distance(const float* found, const Expected* expected, std::size_t count) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    difference += std::pow(double{found[i]} - double{expected[i]}, 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(difference / (size > 0 ? size : 1));
}

/// Relative L2 distance that rounding to `type` explains (rms 2^-9 / sqrt(3) and 2^-12 / sqrt(3) of
/// a number), with room for several roundings.
inline double rounding(Type type) {
  return type == Type::bf16 ? 4e-3 : type == Type::f16 ? 5e-4 : 1e-6;
}

/// Fails unless each row of `width` is within `bound`. Checks all rows, so that one wrong row is
/// detected.
template <class Expected>
void check_rows(const Floats& found, const std::vector<Expected>& expected, int width,
                double bound) {
  REQUIRE(found.size() == expected.size());
  const auto step = static_cast<std::size_t>(width);
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); i += step) {
    const double d = distance(found.data() + i, expected.data() + i, step);
    if (!(d <= bound)) FAIL("row " << i / step << ": distance " << d << ", allowed " << bound);
    worst = std::max(worst, d);
  }
  CHECK(worst <= bound);
}

constexpr Type kHalfTypes[] = {Type::bf16, Type::f16};
inline const char* name(Type type) { return type == Type::bf16 ? "bf16" : "f16"; }

}  // namespace gpu_test
