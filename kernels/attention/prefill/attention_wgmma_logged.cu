// Prefill attention on compute capability 9.0 with logged reads of paged KV blocks.
#include "kernels/attention/logged.hpp"
#include "kernels/attention/prefill/wgmma.cuh"

namespace kernels::gpu {

void prefill_attention_wgmma_logged(const PrefillAttention& op, cudaStream_t stream) {
  prefill_wgmma::launch<KvSource::paged>(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
