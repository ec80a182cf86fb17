"""Drives the scheduler of an installed vLLM, and its host tier, step by step on a CPU.

Genuine are the scheduler, its KV cache manager, and the offloading connector with its scheduler and worker sides. Plain
objects stand for the configuration and the device behind the worker, and the ids of ended requests keep their order.
"""
from collections.abc import MutableSet
from dataclasses import dataclass, field

EOS = 32_000


class Plain:
    """An object with these attributes; all others are None, which in vLLM's configuration means off."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Ordered(MutableSet):
    """A set that iterates in order of insertion."""

    def __init__(self, items=()):
        self.items = dict.fromkeys(items)

    def __contains__(self, item):
        return item in self.items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)

    def add(self, item):
        self.items[item] = None

    def discard(self, item):
        self.items.pop(item, None)

    update = MutableSet.__ior__
    difference_update = MutableSet.__isub__


def is_v0_26():
    import vllm
    return vllm.__version__.startswith("0.26")


def mend_connector():
    """Of 0.26: it iterates over sets of blocks; and what has ended stores blocks with tokens that were never computed, from blocks
    that may be those of others by now. We do not."""
    from vllm.distributed.kv_transfer.kv_connector.v1.offloading import scheduler as offloading
    offloading.set = Ordered
    connector = offloading.OffloadingConnectorScheduler
    if connector.__dict__.get("is_mended"):
        return
    connector.is_mended = True
    offloadable = connector._calc_num_offloadable_tokens

    def of_computed(self, status, tokens):
        request = status.req
        if request.is_finished():
            unknown = 0 if request.status.name == "FINISHED_ABORTED" else 1
            tokens = min(tokens, request.num_computed_tokens, request.num_tokens - unknown)
        return offloadable(self, status, tokens)

    connector._calc_num_offloadable_tokens = of_computed


@dataclass
class Device:
    """Copies that are found done some steps after they were submitted."""
    steps: int
    now: int = 0
    stores: list = field(default_factory=list)  # [job, step at which it is done]
    loads: list = field(default_factory=list)

    def submit_store(self, job, source, target):
        self.stores.append([job, self.now + self.steps])
        return True

    def submit_load(self, job, source, target, expedited=False):
        self.loads.append([job, self.now + self.steps])
        return True

    def wait(self, jobs):
        for queue in self.stores, self.loads:
            last = max((i for i, (job, _) in enumerate(queue) if job in jobs), default=-1)
            for entry in queue[:last + 1]:
                entry[1] = self.now

    def get_finished(self):
        from vllm.v1.kv_offload.base import TransferResult
        done = [job for queue in (self.stores, self.loads) for job, at in queue if at <= self.now]
        for queue in self.stores, self.loads:
            queue[:] = [entry for entry in queue if entry[1] > self.now]
        self.now += 1
        return [TransferResult(job_id=job, success=True) for job in done]


def configuration(config, asynchronous):
    """The objects that Scheduler and OffloadingConnector read."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, KVCacheTensor
    size, blocks = config["block_size"], config["num_gpu_blocks"]
    spec = FullAttentionSpec(block_size=size, num_kv_heads=1, head_size=1, dtype=torch.float32)
    tensors = [KVCacheTensor(size=blocks * spec.page_size_bytes, shared_by=["layer"])] if is_v0_26() else []
    kv = KVCacheConfig(num_blocks=blocks, kv_cache_tensors=tensors, kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)])
    parallel = Plain(pipeline_parallel_size=1, tensor_parallel_size=1, data_parallel_size=1, data_parallel_index=0,
                     decode_context_parallel_size=1, prefill_context_parallel_size=1, world_size=1, rank=0,
                     nnodes_within_dp=1, cp_kv_cache_interleave_size=1)
    scheduler = Plain(max_num_seqs=config["max_num_seqs"], max_num_batched_tokens=config["max_num_batched_tokens"],
                      max_model_len=config["max_model_len"], policy=config["policy"], async_scheduling=asynchronous,
                      long_prefill_token_threshold=config["long_prefill_token_threshold"],
                      long_prefill_token_threshold_adaptive=config.get("long_prefill_token_threshold_adaptive", False),
                      watermark=config.get("watermark", 0.0), enable_chunked_prefill=config["enable_chunked_prefill"],
                      scheduler_reserve_full_isl=config["scheduler_reserve_full_isl"], prefill_schedule_interval=1)
    model = Plain(max_model_len=config["max_model_len"], runner_type="generate", model="tiny", dtype="float32",
                  get_total_num_kv_heads=lambda: 1)
    cache = Plain(block_size=size, num_gpu_blocks=blocks, enable_prefix_caching=config["enable_prefix_caching"],
                  cache_dtype="auto", hash_block_size=size)
    budget = config["max_num_batched_tokens"]
    return kv, Plain(scheduler_config=scheduler, model_config=model, cache_config=cache, parallel_config=parallel,
                     kv_transfer_config=transfer_of(config, spec.page_size_bytes), observability_config=Plain(),
                     aux_output_config=Plain(enabled=False), num_speculative_tokens=0, num_lookahead_tokens=0,
                     num_prefill_lookahead_tokens=0, num_hash_lookahead_tokens=0, use_v2_model_runner=False,
                     ec_manager_config=Plain(get_encoder_cache_manager_obj=lambda: None),
                     max_concurrent_batches=2 if asynchronous else 1,
                     max_in_flight_tokens=budget * (2 if asynchronous else 1))


def transfer_of(config, page):
    from vllm.config import KVTransferConfig
    tier = config.get("tier")
    if tier is None:
        return None
    padded = page if is_v0_26() else -(-page // 4096) * 4096  # a block of the tier is at least one page of memory
    extra = {"cpu_bytes_to_use": tier["blocks"] * padded, "eviction_policy": tier["policy"],
             "offload_prompt_only": tier.get("offload_prompt_only", True)}
    return KVTransferConfig(kv_connector="OffloadingConnector", kv_role="kv_both", engine_id="check",
                            kv_connector_extra_config=extra)


def scheduler_of(config, asynchronous):
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler

    class Watched(AsyncScheduler if asynchronous else Scheduler):
        phantom = False  # a block keeps the hash of tokens that are never computed: known to differ

        @property
        def finished_req_ids(self):
            return self.ended

        @finished_req_ids.setter
        def finished_req_ids(self, ids):
            self.ended = Ordered(ids)

        def _preempt_request(self, request, *rest, **named):
            manager = self.kv_cache_manager.coordinator.single_type_managers[0]
            hashed = manager.num_cached_block.get(request.request_id, 0) * self.block_size
            self.phantom |= hashed > request.num_computed_tokens
            return super()._preempt_request(request, *rest, **named)

    kv, settings = configuration(config, asynchronous)
    grammar = Plain(accept_tokens=lambda request, tokens: True, should_advance=lambda request: False)
    scheduler = Watched(settings, kv, grammar, config["block_size"])
    return scheduler, kv, settings


class Replay:
    """One workload through vLLM, as `scheduler-replay` takes it; steps() gives what both decide."""

    def __init__(self, workload, asynchronous, eos_of=None):
        from vllm.distributed.kv_transfer.kv_connector.v1 import KVConnectorRole
        from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
        from vllm.utils.hashing import sha256
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
        init_none_hash(sha256)
        if is_v0_26():
            mend_connector()
        config = workload["config"]
        self.config, self.asynchronous = config, asynchronous
        self.scheduler, kv, settings = scheduler_of(config, asynchronous)
        self.hasher = get_request_block_hasher(config["block_size"], sha256) if config["enable_prefix_caching"] else None
        self.requests = workload["requests"]
        self.outputs = {r["id"]: list(r["output_tokens"]) for r in self.requests}
        for number, request in enumerate(self.requests):
            if eos_of is not None and (at := eos_of(number, request["output_len"])) is not None:
                self.outputs[request["id"]][at] = EOS
        self.eos = eos_of is not None
        self.live, self.queue, self.added = {}, [], 0
        self.worker = None
        if "tier" in config:
            self.worker = OffloadingConnector(settings, KVConnectorRole.WORKER, kv)
            self.worker.connector_worker.worker = Device(config["tier"]["transfer_steps"])

    def request(self, row):
        from vllm.sampling_params import SamplingParams
        from vllm.v1.request import Request
        params = SamplingParams(max_tokens=row["output_len"], ignore_eos=not self.eos)
        if self.eos:
            params.update_from_generation_config({}, EOS)
        request = Request(row["id"], list(row["prompt"]), params, None, priority=row.get("priority", 0),
                          arrival_time=float(self.added), block_hasher=self.hasher)
        self.added += 1
        return request

    def take_input(self, step):
        from vllm.v1.request import RequestStatus
        for row in self.requests:
            if row["arrival_step"] == step:
                self.live[row["id"]] = self.request(row)
                self.scheduler.add_request(self.live[row["id"]])
        for row in self.requests:
            if row.get("abort_step") == step and row["id"] in self.scheduler.requests:
                self.scheduler.finish_requests([row["id"]], RequestStatus.FINISHED_ABORTED)

    def has_work(self):
        if not self.asynchronous and self.worker is None:
            return self.scheduler.has_unfinished_requests()
        return self.scheduler.has_requests()

    def steps(self):
        last = max(row["arrival_step"] for row in self.requests)
        step = 0
        while step <= last or self.has_work() or self.queue:
            if step > 5000:
                raise RuntimeError("the requests never end")
            yield self.step(step)
            step += 1

    def step(self, step):
        self.take_input(step)
        called = self.has_work() if self.asynchronous or self.worker is not None else True
        record = {"schedule_called": called}
        if called:
            self.queue.append(self.launch(record))
        else:
            record |= {"scheduled": [], "preempted": [], "running": self.names(self.scheduler.running),
                       "waiting": self.waiting(), "free_blocks": self.free_blocks()}
        record["finished"] = self.apply(called)
        record |= {"free_blocks_after": self.free_blocks(), "free_queue_head": self.free_queue()[:8]}
        return record

    def launch(self, record):
        before = {id: (r.num_output_placeholders, r.num_output_tokens) for id, r in self.live.items()}
        batch = self.scheduler.schedule()
        new = {r.req_id for r in batch.scheduled_new_reqs}
        resumed = set(batch.scheduled_cached_reqs.resumed_req_ids)
        record["scheduled"], sampled = [], {}
        for id, tokens in batch.num_scheduled_tokens.items():
            request, (placeholders, known) = self.live[id], before[id]
            kind = "new" if id in new else "resumed" if id in resumed else "running"
            record["scheduled"].append({"id": id, "kind": kind, "num_tokens": tokens,
                                        "num_computed_before": request.num_computed_tokens - tokens,
                                        "block_ids": self.scheduler.kv_cache_manager.get_block_ids(id)[0]})
            samples = request.num_computed_tokens >= request.num_tokens + placeholders
            sampled[id] = [self.outputs[id][known + placeholders]] if samples else []
        record |= {"preempted": sorted(batch.preempted_req_ids or ()), "running": self.names(self.scheduler.running),
                   "waiting": self.waiting(), "free_blocks": self.free_blocks()}
        copies = self.copy(batch, record) if self.worker is not None else None
        return batch, sampled, copies

    def copy(self, batch, record):
        """The worker's part of a step with a tier."""
        from vllm.v1.outputs import KVConnectorOutput
        asked = batch.kv_connector_metadata
        record["loads"] = [[job, j.req_id, list(map(int, j.dst_spec.block_ids)), list(map(int, j.src_spec.block_ids))]
                           for job, j in asked.load_jobs.items()]
        record["stores"] = [[job, j.req_id, list(map(int, j.src_spec.block_ids)), list(map(int, j.dst_spec.block_ids))]
                            for job, j in asked.store_jobs.items()]
        record["flush"] = sorted(asked.jobs_to_flush or ())
        worker = self.worker
        worker.bind_connector_metadata(asked)
        worker.handle_preemptions(asked)
        worker.start_load_kv(None)
        worker.wait_for_save()
        _, loaded = worker.get_finished(set(batch.finished_req_ids))
        told = worker.build_connector_worker_meta()
        worker.clear_connector_metadata()
        return KVConnectorOutput(finished_recving=loaded or None, kv_connector_worker_meta=told)

    def apply(self, called):
        """Applies the oldest batch, if the engine takes one in this iteration; the requests that it ends."""
        from vllm.v1.outputs import ModelRunnerOutput
        if not self.queue:
            return []
        if self.asynchronous and called and len(self.queue) == 1:
            if self.queue[0][0].total_num_scheduled_tokens > 0 or self.has_work():
                return []
        batch, sampled, copies = self.queue.pop(0)
        live = set(self.scheduler.requests)
        ids = list(sampled)
        output = ModelRunnerOutput(req_ids=ids, req_id_to_index={id: i for i, id in enumerate(ids)},
                                   sampled_token_ids=[sampled[id] for id in ids], kv_connector_output=copies)
        self.scheduler.update_from_output(batch, output)
        return sorted(id for id in ids if id in live and self.live[id].is_finished())

    def names(self, requests):
        return [request.request_id for request in requests]

    def waiting(self):
        held = "kv_holding_waiting" if hasattr(self.scheduler, "kv_holding_waiting") else "skipped_waiting"
        return self.names(getattr(self.scheduler, held)) + self.names(self.scheduler.waiting)

    def free_blocks(self):
        return self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()

    def free_queue(self):
        return [block.block_id for block in
                self.scheduler.kv_cache_manager.block_pool.free_block_queue.get_all_free_blocks()]
