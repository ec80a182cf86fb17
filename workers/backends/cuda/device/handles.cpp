#include "workers/backends/cuda/device/handles.hpp"

#include <string>

#include "workers/backends/cuda/device/cublas_lt.hpp"

namespace backends::cuda {
namespace {

std::string message(const char* what, const std::string& why, std::source_location where) {
  std::string file = where.file_name();
  if (const std::size_t slash = file.rfind('/'); slash != std::string::npos)
    file.erase(0, slash + 1);
  return std::string(what) + ": " + why + " (" + file + ":" + std::to_string(where.line()) + ")";
}

std::string size_text(std::size_t bytes) {
  return std::to_string(bytes) + " bytes (" + std::to_string(bytes >> 20) + " MiB)";
}

}  // namespace

bool is_sticky(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDeviceUninitialized:
    case cudaErrorExternalDevice:
    case cudaErrorMpsClientTerminated:
    case cudaErrorUnknown:
      return true;
    default:
      break;
  }
  // Errors that newer toolkits name: contained errors and leaks of tensor memory.
  constexpr int kContained = 226, kTensorMemoryLeak = 721;
  return status == kContained || status == kTensorMemoryLeak;
}

void check(cudaError_t status, const char* what, std::source_location where) {
  if (status == cudaSuccess) return;
  const std::string text = message(
      what, std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status), where);
  if (is_sticky(status)) throw DeviceLost(text);
  cudaGetLastError();  // otherwise the next launch check would report this error again
  if (status == cudaErrorMemoryAllocation) throw DeviceOutOfMemory(text);
  throw DeviceError(text);
}

void check(cublasStatus_t status, const char* what, std::source_location where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  // The underlying CUDA error tells whether the device is still usable.
  check(cudaPeekAtLastError(), what, where);
  const std::string text = message(what, cublas_lt().GetStatusName(status), where);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw DeviceOutOfMemory(text);
  throw DeviceError(text);
}

void* DeviceMemory::allocate(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), ("device memory of " + size_text(bytes)).c_str());
  return data;
}
void DeviceMemory::release(void* data) noexcept { cudaFree(data); }

void* PinnedMemory::allocate(std::size_t bytes) {
  void* data = nullptr;
  check(cudaHostAlloc(&data, bytes, cudaHostAllocPortable),
        ("page-locked memory of " + size_text(bytes)).c_str());
  return data;
}
void PinnedMemory::release(void* data) noexcept { cudaFreeHost(data); }

Stream::Stream(Priority priority) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream priorities");
  check(cudaStreamCreateWithPriority(&raw_, cudaStreamNonBlocking,
                                     priority == Priority::high ? greatest : least),
        "creating a stream");
}
void Stream::synchronize() const { check(cudaStreamSynchronize(raw_), "waiting for a stream"); }

Event::Event() { check(cudaEventCreate(&raw_), "creating an event"); }
void Event::record(const Stream& stream) {
  check(cudaEventRecord(raw_, stream.get()), "recording an event");
}
bool Event::reached() const {
  const cudaError_t status = cudaEventQuery(raw_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, "work on the device");
  return true;
}
void Event::synchronize() const { check(cudaEventSynchronize(raw_), "work on the device"); }

double Event::seconds_between(const Event& start, const Event& end) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start.raw_, end.raw_), "time between events");
  return static_cast<double>(ms) * 1e-3;
}

void order_after(const Stream& stream, const Event& event) {
  check(cudaStreamWaitEvent(stream.get(), event.get(), 0), "ordering streams");
}

void Graph::begin(const Stream& stream) {
  // Thread-local capture: other threads may keep using the device.
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
        "capturing a graph");
}
void Graph::abandon(const Stream& stream) noexcept {
  cudaGraph_t captured = nullptr;
  cudaStreamEndCapture(stream.get(), &captured);
  if (captured != nullptr) cudaGraphDestroy(captured);
  cudaGetLastError();
}
void Graph::end(const Stream& stream) {
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream.get(), &captured), "capturing a graph");
  const cudaError_t status = cudaGraphInstantiate(&raw_, captured, 0);
  cudaGraphDestroy(captured);
  check(status, "preparing a graph");
  check(cudaGraphUpload(raw_, stream.get()), "uploading a graph");
}
void Graph::launch(const Stream& stream) const {
  check(cudaGraphLaunch(raw_, stream.get()), "launching a graph");
}

}  // namespace backends::cuda
