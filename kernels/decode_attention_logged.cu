// Decode attention whose reads of the KV cache are logged.
#include "kernels/device/decode_kernel.cuh"
#include "kernels/device/logged.hpp"

namespace kernels::gpu {

void decode_attention_logged(const DecodeAttention& op, cudaStream_t stream) {
  decode::launch(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
