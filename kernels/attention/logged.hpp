#pragma once
#include "kernels/attention/attention.hpp"

/// The kernels with an access log, called by the launchers when there is a log. They are compiled
/// separately, so that the log does not affect the code of the others.
namespace kernels::gpu {

void append_kv_logged(const AppendKv& op, cudaStream_t stream);
void prefill_attention_logged(const PrefillAttention& op, cudaStream_t stream);
void decode_attention_logged(const DecodeAttention& op, cudaStream_t stream);

/// Prefill attention of compute capability 9.0 (prefill/wgmma.cuh).
void prefill_attention_wgmma(const PrefillAttention& op, cudaStream_t stream);
void prefill_attention_wgmma_logged(const PrefillAttention& op, cudaStream_t stream);

}  // namespace kernels::gpu
