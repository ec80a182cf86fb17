#pragma once
#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <source_location>
#include <utility>

#include "workers/backends/cuda/device/errors.hpp"

namespace backends::cuda {

/// Throws the typed error for `status`; `what` names the operation. Clears the error state of the
/// thread, unless the context is lost.
void check(cudaError_t status, const char* what,
           std::source_location where = std::source_location::current());
void check(cublasStatus_t status, const char* what,
           std::source_location where = std::source_location::current());

/// True for errors after which every call of this process on the device fails.
bool is_sticky(cudaError_t status);

/// Owns memory of one of the allocators below; move-only.
template <class Allocator>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes)
      : data_(bytes > 0 ? Allocator::allocate(bytes) : nullptr), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) Allocator::release(data_);
  }
  std::size_t bytes() const { return bytes_; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct DeviceMemory {
  static void* allocate(std::size_t bytes);
  static void release(void* data) noexcept;
};
struct PinnedMemory {
  static void* allocate(std::size_t bytes);
  static void release(void* data) noexcept;
};
using DeviceBuffer = Buffer<DeviceMemory>;
using PinnedBuffer = Buffer<PinnedMemory>;

/// A stream that does not synchronize with the legacy default stream.
class Stream {
 public:
  enum class Priority { low, high };
  explicit Stream(Priority priority = Priority::low);
  Stream(Stream&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();
  cudaStream_t get() const { return raw_; }
  void synchronize() const;

 private:
  cudaStream_t raw_ = nullptr;
};

/// An event with timing. An event that has not been recorded counts as reached.
class Event {
 public:
  Event();
  Event(Event&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Event();
  cudaEvent_t get() const { return raw_; }
  void record(const Stream& stream);
  bool reached() const;
  void synchronize() const;
  /// Device time between two events that were reached, in seconds.
  static double seconds_between(const Event& start, const Event& end);

 private:
  cudaEvent_t raw_ = nullptr;
};

/// Makes later work of `stream` wait for `event`.
void order_after(const Stream& stream, const Event& event);

/// A CUDA graph: work captured once, which can be launched repeatedly on any stream.
class Graph {
 public:
  Graph() = default;
  /// Captures what `enqueue` puts on `stream`, without executing it.
  template <class Enqueue>
  Graph(const Stream& stream, const Enqueue& enqueue) {
    begin(stream);
    try {
      enqueue();
    } catch (...) {
      abandon(stream);
      throw;
    }
    end(stream);
  }
  Graph(Graph&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Graph();
  void launch(const Stream& stream) const;

 private:
  static void begin(const Stream& stream);
  static void abandon(const Stream& stream) noexcept;
  void end(const Stream& stream);

  cudaGraphExec_t raw_ = nullptr;
};

}  // namespace backends::cuda
