#pragma once
#include "tests/gpu/kernels/device.hpp"

namespace gpu_test {

/// Launches captured in a graph, on a stream of their own.
class Captured {
 public:
  template <class Launch>
  explicit Captured(const Launch& launch) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamCreate(&stream_));
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    try {
      launch(stream_);
    } catch (...) {  // a thread that captures cannot allocate
      cudaStreamEndCapture(stream_, &graph);
      throw;
    }
    check(cudaStreamEndCapture(stream_, &graph));
    check(cudaGraphGetNodes(graph, nullptr, &nodes_));
    check(cudaGraphInstantiate(&executable_, graph, 0));
    check(cudaGraphDestroy(graph));
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() {
    cudaGraphExecDestroy(executable_);
    cudaStreamDestroy(stream_);
  }
  /// Kernels, copies and others that were enqueued.
  std::size_t nodes() const { return nodes_; }
  void replay() { check(cudaGraphLaunch(executable_, stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace gpu_test
