// Prefill attention whose reads of the KV cache are logged: those of paged blocks.
#include "kernels/device/logged.hpp"
#include "kernels/device/prefill_kernel.cuh"

namespace kernels::gpu {

void prefill_attention_logged(const PrefillAttention& op, cudaStream_t stream) {
  prefill::launch<KvSource::paged>(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
