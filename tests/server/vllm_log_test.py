"""kvsweep's log of steps, on the genuine scheduler of a vLLM that is installed.

    python3 vllm_log_test.py overhead     # microseconds a step with and without the log, in pairs
"""
import collections
import contextlib
import json
import os
import random
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "farm"), os.path.join(HERE, "..", "..", "analysis", "python")]
from cases import case, expect, expect_equal, main
from vllm_genuine import computed, request_of, require_vllm, scheduler_of


@contextlib.contextmanager
def logged(is_async, path, **sizes):
    """A scheduler that writes its steps to the file; without a path, the stock one."""
    require_vllm()
    import kvsweep.vllm as ours
    if path:
        os.environ["KVSWEEP_STEPS"] = path
    try:
        if path:
            scheduler = scheduler_of(ours.AsyncScheduler if is_async else ours.Scheduler, is_async=is_async, **sizes)
        else:
            scheduler = scheduler_of(ours.StockAsyncScheduler if is_async else ours.StockScheduler, is_async=is_async, **sizes)
        yield scheduler
        if path:
            scheduler.step_log.flush(0)
    finally:
        os.environ.pop("KVSWEEP_STEPS", None)


def generated(count=24):
    """(step of arrival, request): jobs of two turns, of which the second one finds the first one's tokens."""
    draw = random.Random(5)
    for number in range(count):
        job, turn = divmod(number, 2)
        prompt = [job * 10_000 + at for at in range(draw.randint(20, 100) + 80 * turn)]
        yield draw.randint(0, 40) + 200 * turn, request_of(f"{job}-t{turn}", prompt, draw.randint(1, 150))


def outputs_of(scheduler, is_async):
    """(output, running, waiting) of each step until all requests have ended."""
    due, batches = sorted(generated(), key=lambda each: each[0]), collections.deque()
    step = 0
    while due or scheduler.has_requests():
        while due and due[0][0] <= step:
            scheduler.add_request(due.pop(0)[1])
        output = scheduler.schedule()
        yield output, len(scheduler.running), len(scheduler.waiting)
        batches.append(output)
        while len(batches) > is_async:
            computed(scheduler, batches.popleft(), lambda request: 7_000_000 + request.num_tokens)
        step += 1


def same_as_outputs(is_async):
    totals = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.jsonl")
        with logged(is_async, path, blocks=40) as scheduler:
            steps = list(outputs_of(scheduler, is_async))
        with open(path) as file:
            lines = [json.loads(line) for line in file]
    expect_equal(lines[0]["async"], is_async, "first line")
    lines, names, seen = collections.deque(lines[1:]), {}, set()
    idle = 2
    for output, running, waiting in steps:
        does = bool(output.num_scheduled_tokens or output.finished_req_ids or output.preempted_req_ids)
        idle = 0 if does else idle + 1
        if idle > 2:
            continue
        line = lines.popleft()
        names.update({int(number): id for number, id in line.get("ids", {}).items()})
        batch = [(names[each], 1) if isinstance(each, int) else (names[each[0]], each[1]) for each in line.get("batch", [])]
        expect_equal(batch, list(output.num_scheduled_tokens.items()), "batch")
        expect_equal(line.get("tokens", 0), output.total_num_scheduled_tokens, "tokens")
        expect_equal((line["run"], line["wait"]), (running, waiting), "running and waiting")
        expect_equal({names[n] for n in line.get("preempted", [])}, set(output.preempted_req_ids or ()), "preempted")
        expect_equal({names[n] for n in line.get("finished", [])}, {id for id in output.finished_req_ids if id in seen}, "finished")
        fresh = {each.req_id: each.num_computed_tokens for each in output.scheduled_new_reqs}
        again = set(output.scheduled_cached_reqs.resumed_req_ids)
        expect_equal({names[n]: found for n, found, _ in line.get("new", [])}, fresh, "new")
        expect_equal({names[n] for n, *_ in line.get("resumed", [])}, again, "resumed")
        seen |= set(output.num_scheduled_tokens)
        totals.update(new=len(fresh), found=sum(fresh.values()), resumed=len(again), preempted=len(output.preempted_req_ids or ()))
    expect_equal(len(lines), 0, "lines without a step")
    expect_equal(totals["new"], 24, "requests")
    expect(min(totals.values()) > 0 and len(totals) == 4, f"all kinds of steps: {totals}")


@case("the log of a genuine scheduler has the batches, queues, hits and preemptions of its steps")
def synchronous():
    same_as_outputs(False)


@case("the log of a genuine asynchronous scheduler has the batches, queues, hits and preemptions of its steps")
def asynchronous():
    same_as_outputs(True)


def overhead(batch, steps=600, rounds=5):
    """Prints microseconds of processor time that schedule() takes for decodes of so many, with and without the log, in turns."""
    took = {False: [], True: []}
    for _ in range(rounds):
        for writes in False, True:
            with tempfile.TemporaryDirectory() as folder, \
                    logged(True, os.path.join(folder, "steps") if writes else None, blocks=150 * batch + 100, budget=2048) as scheduler:
                for number in range(batch):
                    scheduler.add_request(request_of(f"{number}-t0", [number * 10_000 + at for at in range(100)], steps + 50))
                batches, spent = collections.deque(), 0
                for step in range(steps):
                    began = time.process_time_ns()
                    output = scheduler.schedule()
                    spent += time.process_time_ns() - began if step > steps // 10 else 0
                    batches.append(output)
                    while len(batches) > 1:
                        computed(scheduler, batches.popleft(), lambda request: 7)
                took[writes].append(spent / (steps - steps // 10) / 1e3)
    without, with_log = (sorted(took[writes])[rounds // 2] for writes in (False, True))
    print(f"batch {batch}: {without:.1f} us without, {with_log:.1f} us with the log: {with_log - without:.1f} us a step", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["overhead"]:
        for size in 8, 64:
            overhead(size)
    else:
        main()
