#pragma once
#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <source_location>
#include <utility>

#include "kernels/device/types.hpp"
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

/// Runs `work`, and converts the error type of kernel launchers to the backend's.
template <class Work>
void with_device_errors(const Work& work) {
  try {
    work();
  } catch (const kernels::gpu::CudaError& error) {
    check(error.code(), error.what());
    throw DeviceError(error.what());
  }
}

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

/// Owns a handle that `release` frees; move-only.
template <class Raw, auto release>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Handle() {
    if (raw_ != nullptr) release(raw_);
  }
  Raw get() const { return raw_; }

 protected:
  Raw raw_ = nullptr;
};

/// A stream that does not synchronize with the legacy default stream.
class Stream : public Handle<cudaStream_t, cudaStreamDestroy> {
 public:
  enum class Priority { low, high };
  explicit Stream(Priority priority = Priority::low);
  void synchronize() const;
};

/// An event with timing. An event that has not been recorded counts as reached.
class Event : public Handle<cudaEvent_t, cudaEventDestroy> {
 public:
  Event();
  void record(const Stream& stream);
  bool reached() const;
  void synchronize() const;
  /// Device time between two events that were reached, in seconds.
  static double seconds_between(const Event& start, const Event& end);
};

/// Makes later work of `stream` wait for `event`.
void order_after(const Stream& stream, const Event& event);

/// A CUDA graph: work captured once, which can be launched repeatedly on any stream.
class Graph : public Handle<cudaGraphExec_t, cudaGraphExecDestroy> {
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
  void launch(const Stream& stream) const;

 private:
  static void begin(const Stream& stream);
  static void abandon(const Stream& stream) noexcept;
  void end(const Stream& stream);
};

}  // namespace backends::cuda
