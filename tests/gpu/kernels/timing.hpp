#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "kernels/attention/attention.hpp"

/// What the parts of time_kernels share: memory, medians of graph replays, and lines of output.
namespace gpu_timing {

namespace gpu = kernels::gpu;
using kernels::gpu::check;

constexpr gpu::HeadShape kHeads = {32, 8, 128};
constexpr int kHidden = 4096, kMlp = 14336, kVocab = 128256, kBlockSize = 16;

class Memory {
 public:
  explicit Memory(std::size_t bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  ~Memory() { cudaFree(data_); }
  template <class T = void>
  T* get() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// bf16 numbers in (-1, 1).
Memory random_numbers(std::int64_t elements);

template <class T>
Memory copied(const std::vector<T>& from) {
  Memory memory(from.size() * sizeof(T));
  check(cudaMemcpy(memory.get(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice),
        "copy");
  return memory;
}

/// Median time of one of the `inside` operations that `work` enqueues, in microseconds.
double microseconds(int inside, const std::function<void(cudaStream_t)>& work);

/// Measures the device's copy rate, of which print_bytes() prints the share.
void time_copy();
void print_bytes(const char* what, double us, double bytes);

/// Times products of few rows, and gate and up of many.
void time_products();

}  // namespace gpu_timing
