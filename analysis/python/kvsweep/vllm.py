"""Schedulers for vLLM that write down each step: one line of JSON a schedule() that computes, loads, preempts or ends anything.

    PYTHONPATH=analysis/python KVSWEEP_STEPS=steps.jsonl vllm serve MODEL --scheduler-cls kvsweep.vllm.AsyncScheduler

`Scheduler` and `AsyncScheduler` decide as the classes of that name in the vLLM that is installed; nothing is patched. The first
line says what wrote the file; then, per step, with fields left out that are 0 or empty:

    t          s         monotonic clock when schedule() returned
    plan_us    us        that schedule() took
    log_us     us        that the line before this one took to be written
    n, tokens            requests in the batch, tokens that it computes
    kv, pairs            KV tokens that its attention reads, query-key pairs
    run, wait            requests running and waiting after schedule()
    new, resumed         [id, tokens to compute, tokens found in a cache, tokens of them found outside the GPU] of each
    preempted, finished  ids
    loads, stores        copies from and to host memory that begin

A server that is killed leaves at most one line cut off. Without KVSWEEP_STEPS nothing is written.
"""
import json
import os
import time

import vllm
from vllm.v1.core.sched.async_scheduler import AsyncScheduler as StockAsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler as StockScheduler

VERSION = 1
FLUSH_S = 1.0


def found_outside(request):
    """Prompt tokens that a connector brings to the first prefill of a request."""
    stats = getattr(request, "prefill_stats", None)
    return getattr(stats, "num_external_cached_tokens", 0) or 0


def admitted(output, requests):
    """(new, resumed): what stands in the line for requests that this step takes up."""
    tokens = output.num_scheduled_tokens
    new = [[r.req_id, tokens[r.req_id], r.num_computed_tokens, found_outside(requests.get(r.req_id))]
           for r in output.scheduled_new_reqs]
    cached = output.scheduled_cached_reqs
    resumed = [[id, tokens[id], computed, 0]
               for id, computed in zip(cached.req_ids, cached.num_computed_tokens) if id in cached.resumed_req_ids]
    return new, resumed


def work(output, requests):
    """(kv, pairs) of a batch, from the tokens that each request has computed once it has run."""
    kv = pairs = 0
    for id, count in output.num_scheduled_tokens.items():
        end = requests[id].num_computed_tokens
        kv += end
        pairs += count * (end - count) + count * (count + 1) // 2
    return kv, pairs


def copies(output):
    """(loads, stores): copies that vLLM's OffloadingConnector begins with this step."""
    meta = getattr(output, "kv_connector_metadata", None)
    return tuple(len(getattr(meta, name, None) or ()) for name in ("load_jobs", "store_jobs"))


def line_of(scheduler, output):
    """The line of a step; None where it does nothing."""
    kv, pairs = work(output, scheduler.requests)
    new, resumed = admitted(output, scheduler.requests)
    loads, stores = copies(output)
    line = {"n": len(output.num_scheduled_tokens), "tokens": output.total_num_scheduled_tokens, "kv": kv, "pairs": pairs,
            "new": new, "resumed": resumed, "preempted": sorted(output.preempted_req_ids or ()),
            "finished": sorted(output.finished_req_ids), "loads": loads, "stores": stores}
    line = {name: value for name, value in line.items() if value}
    if not line:
        return None
    line["run"] = len(scheduler.running)
    line["wait"] = len(scheduler.waiting) + len(getattr(scheduler, "skipped_waiting", ()))
    return line


class StepLog:
    """The file of a server's steps."""

    def __init__(self, path, scheduler):
        self.file = open(path, "a", buffering=1 << 16)
        self.flushed = time.monotonic()
        self.log_us = 0
        self.write({"kvsweep_steps": VERSION, "vllm": vllm.__version__, "scheduler": type(scheduler).__bases__[1].__name__,
                    "block_size": scheduler.block_size, "t": time.monotonic()})

    def write(self, line):
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def add(self, scheduler, output, began):
        planned = time.monotonic()
        line = line_of(scheduler, output)
        if line is None:
            return
        line.update(t=round(planned, 6), plan_us=round((planned - began) * 1e6), log_us=self.log_us)
        self.write(line)
        if planned - self.flushed > FLUSH_S:
            self.file.flush()
            self.flushed = planned
        self.log_us = round((time.monotonic() - planned) * 1e6)


class Logged:
    """Writes the steps of the scheduler class that stands behind it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        path = os.environ.get("KVSWEEP_STEPS")
        self.step_log = StepLog(path, self) if path else None

    def schedule(self, *args, **kwargs):
        began = time.monotonic()
        output = super().schedule(*args, **kwargs)
        if self.step_log is not None:
            self.step_log.add(self, output, began)
        return output

    def shutdown(self):
        if self.step_log is not None:
            self.step_log.file.flush()
        super().shutdown()


class Scheduler(Logged, StockScheduler):
    pass


class AsyncScheduler(Logged, StockAsyncScheduler):
    pass
