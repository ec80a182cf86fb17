// Applies rotary embedding and appends keys and values, without an access log; see
// append_kernel.cuh.
#include "kernels/attention/append_kernel.cuh"
#include "kernels/attention/logged.hpp"

namespace kernels::gpu {

int append_kv_warps(const HeadShape& shape) { return append::threads_of(shape) / 32; }

int append_kv_records(const HeadShape& shape) {
  const int items = (shape.heads + 2 * shape.kv_heads) * shape.head_dim / 16;
  const int heads_a_warp = 32 / (shape.head_dim / 16);
  return heads_a_warp * divide_up(items, append::threads_of(shape));
}

void append_kv(const AppendKv& op, cudaStream_t stream) {
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "append_kv: head_dim is neither 64 nor 128");
  require(op.kv.arena == nullptr || op.kv.layout.block_size > 0, "append_kv: no block size");
  if (op.tokens == 0) return;
  AppendKv with_slots = op;
  if (op.kv.arena == nullptr) with_slots.kv.layout.block_size = 1;
  if (op.log) return append_kv_logged(with_slots, stream);
  append::launch(with_slots, NoLog{}, stream);
}

}  // namespace kernels::gpu
