#pragma once
#include "kernels/device/attention.hpp"

/// The kernels that leave an access log, which their launchers call when there is one. They are
/// compiled apart, so that those without a log are compiled as if there were no log.
namespace kernels::gpu {

void append_kv_logged(const AppendKv& op, cudaStream_t stream);
void prefill_attention_logged(const PrefillAttention& op, cudaStream_t stream);
void decode_attention_logged(const DecodeAttention& op, cudaStream_t stream);

/// Prefill attention of compute capability 9.0 (prefill_wgmma.cuh).
void prefill_attention_wgmma(const PrefillAttention& op, cudaStream_t stream);
void prefill_attention_wgmma_logged(const PrefillAttention& op, cudaStream_t stream);

}  // namespace kernels::gpu
