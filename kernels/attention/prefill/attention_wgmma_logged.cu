// Prefill attention on compute capability 9.0 with logged reads of paged KV blocks.
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KERNELS_WGMMA 0
#else
#define KERNELS_WGMMA 1
#endif
#include "kernels/attention/logged.hpp"
#include "kernels/attention/prefill/wgmma.cuh"

namespace kernels::gpu {

void prefill_attention_wgmma_logged(const PrefillAttention& op, cudaStream_t stream) {
  prefill_wgmma::launch<KvSource::paged>(op, RecordLog{*op.log}, stream);
}

}  // namespace kernels::gpu
