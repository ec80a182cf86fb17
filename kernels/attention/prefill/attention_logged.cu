// Prefill attention with logged reads of paged KV blocks.
#include "kernels/attention/logged.hpp"
#include "kernels/attention/prefill/kernel.cuh"

namespace kernels::gpu {

void prefill_attention_logged(const PrefillAttention& op, cudaStream_t stream) {
  prefill::launch<KvSource::paged>(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
