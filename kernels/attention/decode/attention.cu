// Decode attention without an access log; see kernel.cuh.
#include "kernels/attention/decode/kernel.cuh"
#include "kernels/attention/logged.hpp"

namespace kernels::gpu {

void decode_attention(const DecodeAttention& op, cudaStream_t stream) {
  const int size = op.kv.layout.block_size;
  require(size > 0 && size % 8 == 0 && size <= 1024,
          "decode_attention: block_size is not a multiple of 8 up to 1024");
  require(op.shape.group() <= decode::kMaxGroup,
          "decode_attention: more than 8 query heads share a key head");
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "decode_attention: head_dim is neither 64 nor 128");
  if (op.rows == 0) return;
  if (op.log) return decode_attention_logged(op, stream);
  decode::launch(op, NoLog{}, stream);
}

}  // namespace kernels::gpu
