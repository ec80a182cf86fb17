// Prefill attention on compute capability 9.0, without an access log; see wgmma.cuh.
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KERNELS_WGMMA 0
#else
#define KERNELS_WGMMA 1
#endif
#include "kernels/attention/logged.hpp"
#include "kernels/attention/prefill/wgmma.cuh"

namespace kernels::gpu {

void prefill_attention_wgmma(const PrefillAttention& op, cudaStream_t stream) {
  if (op.source == KvSource::contiguous)
    return prefill_wgmma::launch<KvSource::contiguous>(op, NoLog{}, stream);
  prefill_wgmma::launch<KvSource::paged>(op, NoLog{}, stream);
}

}  // namespace kernels::gpu
