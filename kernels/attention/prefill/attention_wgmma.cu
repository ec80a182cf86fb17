// Prefill attention on compute capability 9.0, without an access log; see wgmma.cuh.
#include "kernels/attention/logged.hpp"
#include "kernels/attention/prefill/wgmma.cuh"

namespace kernels::gpu {

void prefill_attention_wgmma(const PrefillAttention& op, cudaStream_t stream) {
  if (op.source == KvSource::contiguous)
    return prefill_wgmma::launch<KvSource::contiguous>(op, NoLog{}, stream);
  prefill_wgmma::launch<KvSource::paged>(op, NoLog{}, stream);
}

}  // namespace kernels::gpu
