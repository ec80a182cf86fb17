// Appends keys and values, and logs each that is written.
#include "kernels/device/append_kernel.cuh"
#include "kernels/device/logged.hpp"

namespace kernels::gpu {

void append_kv_logged(const AppendKv& op, cudaStream_t stream) {
  append::launch(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
