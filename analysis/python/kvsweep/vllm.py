"""Schedulers for vLLM that write down each step: one line of JSON a schedule() that computes, loads, preempts or ends anything.

    PYTHONPATH=analysis/python KVSWEEP_STEPS=steps.jsonl vllm serve MODEL --scheduler-cls kvsweep.vllm.AsyncScheduler

`Scheduler` and `AsyncScheduler` decide as the classes of that name in the vLLM that is installed; nothing is patched. The first
line says what wrote the file; then, per step, with fields left out that are 0 or empty:

    t          s         monotonic clock when schedule() returned
    plan_us    us        that schedule() took
    log_us     us        that the line before this one took to be written
    ids                  {number: id of the request} of requests that the file has not named yet; below, requests are numbers
    batch                the step's requests in scheduled order: a number alone computes 1 token, [number, tokens] several
    tokens               that the batch computes
    run, wait            requests running and waiting after schedule()
    new, resumed         [number, tokens found in caches, tokens of them found outside the GPU] of each
    preempted, finished  numbers
    loads              [number, blocks] of each request whose KV begins to come from host memory
    stores             blocks that begin to be copied to host memory

A request has computed the tokens that were found for it and what it was scheduled to compute since; nothing once preempted. The two
calls of schedule() behind one that does something have lines in any case: with asynchronous scheduling a batch's time lies between them.
Lines are written to the disk once a second, and when no request is left. A server that is killed leaves at most one line cut off.
Without KVSWEEP_STEPS nothing is written. `kvsweep run` starts servers so with `steps = true` in `[server]`.
"""
import dataclasses
import json
import os
import time

import vllm
from vllm.v1.core.sched.async_scheduler import AsyncScheduler as StockAsyncScheduler
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler as StockScheduler

from kvsweep.steering import Steered

VERSION = 3
encode = json.JSONEncoder(separators=(",", ":")).encode
FLUSH_S = 1.0
FIELDS = {"num_scheduled_tokens", "total_num_scheduled_tokens", "scheduled_new_reqs", "scheduled_cached_reqs", "preempted_req_ids",
          "finished_req_ids"}  # of a step, that lines are made of
WAITING = "waiting", "skipped_waiting", "kv_holding_waiting"  # queues, of which each version has some


def found_outside(request):
    """Prompt tokens that a connector brings to the first prefill of a request."""
    stats = getattr(request, "prefill_stats", None)
    return getattr(stats, "num_external_cached_tokens", 0) or 0


def copies(output, name, side):
    """[(request id, GPU blocks)] of the copies that vLLM's OffloadingConnector begins with this step: "load_jobs" or "store_jobs"."""
    jobs = getattr(getattr(output, "kv_connector_metadata", None), name, None) or {}
    return [(job.req_id, len(getattr(job, side).block_ids)) for job in jobs.values()]


class Numbers(dict):
    """A small integer for each request that is not finished, from 0 in order of appearance."""

    def __init__(self):
        self.next, self.fresh, self.loading = 0, {}, set()  # loading: named by a load, and not scheduled yet

    def __missing__(self, id):
        number = self[id] = self.next
        self.next += 1
        self.fresh[number] = id
        return number

    def take_fresh(self):
        fresh, self.fresh = self.fresh, {}
        return fresh


def line_of(scheduler, output, numbers):
    """What stands in the line of a step beside its times and the queues; empty where it does nothing."""
    line = {"stores": sum(blocks for _, blocks in copies(output, "store_jobs", "src_spec"))}
    if output.finished_req_ids:
        line["finished"] = [numbers.pop(id) for id in output.finished_req_ids if id in numbers]
        numbers.loading -= output.finished_req_ids
    cached, taken = output.scheduled_cached_reqs, [(r.req_id, r.num_computed_tokens) for r in output.scheduled_new_reqs]
    # Where the model runner takes resumed requests for new ones.
    again = [each for each in taken if each[0] in numbers and each[0] not in numbers.loading]
    if cached.resumed_req_ids:
        again += [each for each in zip(cached.req_ids, cached.num_computed_tokens) if each[0] in cached.resumed_req_ids]
    line["resumed"] = [[numbers[id], found, 0] for id, found in again]
    line["batch"] = [of if count == 1 else [of, count]
                     for of, count in zip(map(numbers.__getitem__, output.num_scheduled_tokens), output.num_scheduled_tokens.values())]
    line["new"] = [[numbers[id], found, found_outside(scheduler.requests.get(id))] for id, found in taken if (id, found) not in again]
    line["preempted"] = [numbers[id] for id in output.preempted_req_ids or ()]
    line["tokens"] = output.total_num_scheduled_tokens
    numbers.loading.difference_update(id for id, _ in taken)
    loads = copies(output, "load_jobs", "dst_spec")
    numbers.loading.update(id for id, _ in loads if id not in numbers)
    line["loads"] = [[numbers[id], blocks] for id, blocks in loads]
    line["ids"] = numbers.take_fresh()
    return {name: value for name, value in line.items() if value}


class StepLog:
    """The file of a server's steps."""

    def __init__(self, path, scheduler):
        self.file = open(path, "a", buffering=1 << 16)
        self.log_us, self.numbers, self.idle = 0, Numbers(), 2
        self.write({"kvsweep_steps": VERSION, "vllm": vllm.__version__, "async": isinstance(scheduler, StockAsyncScheduler),
                    "block_size": scheduler.block_size, "t": time.monotonic()})
        self.flush(time.monotonic())

    def write(self, line):
        self.file.write(encode(line) + "\n")

    def flush(self, now):
        self.file.flush()
        self.flushed = now

    def add(self, scheduler, output, began):
        planned = time.monotonic()
        line = line_of(scheduler, output, self.numbers)
        self.idle = 0 if line else self.idle + 1
        if self.idle > 2:
            return
        running, waiting = len(scheduler.running), sum(len(getattr(scheduler, name, ())) for name in WAITING)
        line.update(run=running, wait=waiting, t=round(planned, 6), plan_us=round((planned - began) * 1e6), log_us=self.log_us)
        self.write(line)
        if planned - self.flushed > FLUSH_S or not (running or waiting or "batch" in line):
            self.flush(planned)
        self.log_us = round((time.monotonic() - planned) * 1e6)


def require_shape(scheduler):
    """Ends the start of a server with steps that would not be written as they are."""
    lacks = sorted(FIELDS - {each.name for each in dataclasses.fields(SchedulerOutput)})
    lacks += [name for name in ("requests", "running", "waiting", "block_size") if not hasattr(scheduler, name)]
    if lacks:
        raise RuntimeError(f"kvsweep.vllm does not know the scheduler of vLLM {vllm.__version__}, which lacks {', '.join(lacks)}")


def require_way(scheduler, is_async):
    """Ends the start of a server that schedules the other way than its class."""
    config = getattr(scheduler, "scheduler_config", None)
    if bool(getattr(config, "async_scheduling", is_async)) != is_async:
        raise RuntimeError("vLLM schedules " + ("synchronously here: give it --no-async-scheduling, and kvsweep.vllm.Scheduler"
                                                if is_async else "asynchronously here: give it kvsweep.vllm.AsyncScheduler"))


class Logged:
    """Writes the steps of the scheduler class that stands behind it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        path = os.environ.get("KVSWEEP_STEPS")
        self.step_log = None
        if path or self.kvsweep_policy is not None:
            require_way(self, isinstance(self, StockAsyncScheduler))
        if path:
            require_shape(self)
            self.step_log = StepLog(path, self)

    def schedule(self, *args, **kwargs):
        began = time.monotonic()
        output = super().schedule(*args, **kwargs)
        if self.step_log is not None:
            self.step_log.add(self, output, began)
        return output

    def shutdown(self):
        if self.step_log is not None:
            self.step_log.flush(time.monotonic())
        super().shutdown()


class Scheduler(Logged, Steered, StockScheduler):
    pass


class AsyncScheduler(Logged, Steered, StockAsyncScheduler):
    pass
