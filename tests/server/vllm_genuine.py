"""The genuine scheduler of an installed vLLM on a processor: a configuration of plain objects, requests, and their steps."""
import importlib.util
import os
import types

from cases import skip


def require_vllm():
    if importlib.util.find_spec("vllm") is None:
        skip("Python has no vllm")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        import torch  # noqa: F401
        import vllm.v1.core.sched.scheduler  # noqa: F401
    except ImportError as error:
        skip(f"Python's vllm does not load: {error}")


class Plain(types.SimpleNamespace):
    """A configuration in which what is not given is off."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def scheduler_of(cls, blocks, budget=512, max_len=16384, is_async=False, policy="fcfs", seqs=256):
    """`blocks` without the null block, of 16 tokens."""
    import torch
    from vllm.config import SchedulerConfig
    from vllm.utils.hashing import sha256
    from vllm.v1.core.kv_cache_utils import init_none_hash
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    limits = SchedulerConfig(max_num_batched_tokens=budget, max_num_seqs=seqs, max_model_len=max_len, is_encoder_decoder=False,
                             policy=policy, async_scheduling=is_async, enable_chunked_prefill=True)
    config = Plain(
        scheduler_config=limits,
        cache_config=Plain(block_size=16, num_gpu_blocks=blocks + 1, enable_prefix_caching=True, mamba_cache_mode="none",
                           enable_mamba_shared_prefix_checkpoint=False),
        model_config=Plain(uses_mrope=False, max_model_len=max_len, is_encoder_decoder=False, is_diffusion=False, runner_type="generate",
                           supports_multimodal_inputs=False, return_sampling_mask=False),
        observability_config=Plain(kv_cache_metrics=False, per_request_spec_decode_metrics="none", enable_mfu_metrics=False),
        parallel_config=Plain(decode_context_parallel_size=1, prefill_context_parallel_size=1, pipeline_parallel_size=1,
                              data_parallel_size=1, data_parallel_index=0, data_parallel_rank=0),
        ec_manager_config=Plain(get_encoder_cache_manager_obj=lambda: None), aux_output_config=Plain(enabled=False),
        num_speculative_tokens=0, num_lookahead_tokens=0, num_prefill_lookahead_tokens=0, num_hash_lookahead_tokens=0,
        max_in_flight_tokens=2 * budget, use_v2_model_runner=False, max_concurrent_batches=1 + is_async)
    layers = [KVCacheGroupSpec(["layer"], FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=1, dtype=torch.float32))]
    init_none_hash(sha256)
    accepting = Plain(should_advance=lambda request: False, accept_tokens=lambda *arguments: True)
    return cls(config, KVCacheConfig(num_blocks=blocks + 1, kv_cache_tensors=[], kv_cache_groups=layers), accepting, 16, log_stats=False)


def request_of(id, prompt, max_tokens, xargs=None):
    from vllm.sampling_params import SamplingParams
    from vllm.utils.hashing import sha256
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher
    from vllm.v1.request import Request
    return Request(id, prompt, SamplingParams(max_tokens=max_tokens, ignore_eos=True, extra_args=xargs), None,
                   block_hasher=get_request_block_hasher(16, sha256))


def computed(scheduler, output, token_of):
    """Tells the scheduler what the step's batch sampled: token_of(request) of each that is at its last known token."""
    from vllm.v1.outputs import ModelRunnerOutput
    ids = list(output.num_scheduled_tokens)
    sampled = []
    for id in ids:
        request = scheduler.requests.get(id)
        # Placeholders stand for tokens in flight, of which this batch brings the first.
        ends = request is None or request.num_computed_tokens >= request.num_tokens + max(0, request.num_output_placeholders - 1)
        sampled.append([token_of(request) if request else 0] if ends and not (request and request.is_prefill_chunk) else [])
    return scheduler.update_from_output(output, ModelRunnerOutput(
        req_ids=ids, req_id_to_index={id: at for at, id in enumerate(ids)}, sampled_token_ids=sampled, logprobs=None,
        prompt_logprobs_dict={}, pooler_output=[]))
