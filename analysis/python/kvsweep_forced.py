"""A logits processor for vLLM that makes it generate recorded tokens: server.chain = "forced" of kvsweep.

    PYTHONPATH=analysis/python vllm serve MODEL --no-async-scheduling --logits-processors kvsweep_forced:ForcedTokens

For the V1 model runner (with vLLM 0.32 and later VLLM_USE_V2_MODEL_RUNNER=0). A request carries the ids of its answer as text,
vllm_xargs = {"kvsweep_forced": "17 4711 3"}; other requests are not touched. Each step costs a call in Python for each such
request. Asynchronous scheduling must be off, since a step must know how many tokens the one before it has generated.
"""
from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

ARGUMENT = "kvsweep_forced"


def ids_of(params):
    """The ids in a request's arguments; none without the argument. Raises ValueError for what are no ids."""
    text = (params.extra_args or {}).get(ARGUMENT, "")
    ids = [int(word) for word in str(text).split()]
    if any(token < 0 for token in ids):
        raise ValueError(f"{ARGUMENT} has a negative token id")
    return ids


class Forced:
    """Of one request: leaves one token for each position of the answer."""

    def __init__(self, ids):
        self.ids = ids

    def __call__(self, generated, logits):
        if len(generated) < len(self.ids):
            logits.fill_(float("-inf"))
            logits[self.ids[len(generated)]] = 0.0
        return logits


class ForcedTokens(AdapterLogitsProcessor):
    @classmethod
    def validate_params(cls, sampling_params):
        ids_of(sampling_params)

    def is_argmax_invariant(self):
        return False

    def new_req_logits_processor(self, params):
        ids = ids_of(params)
        return Forced(ids) if ids else None
