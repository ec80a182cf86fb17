// Decode attention with logged reads of the KV cache.
#include "kernels/attention/decode/kernel.cuh"
#include "kernels/attention/logged.hpp"

namespace kernels::gpu {

void decode_attention_logged(const DecodeAttention& op, cudaStream_t stream) {
  decode::launch(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
