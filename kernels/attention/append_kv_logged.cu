// Appends keys and values, and logs each write.
#include "kernels/attention/append_kernel.cuh"
#include "kernels/attention/logged.hpp"

namespace kernels::gpu {

void append_kv_logged(const AppendKv& op, cudaStream_t stream) {
  append::launch(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
