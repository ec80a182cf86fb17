"""kvsweep's policies for vLLM, with stand-ins for vLLM's structures that they work on."""
import logging
import os
import tempfile
import types

from vllm_stand_ins import FAILS, LIBRARY, SLOW, Fcfs, Order, RequestQueue, Scheduler, Steered, environment, ours, refusal, steered
from cases import case, expect, expect_equal, expect_in, main  # noqa: E402


@case("turns are served in the order of their jobs, which vllm_xargs or the request's id name")
def job_order():
    scheduler = steered("job_fcfs")
    first = [scheduler.add("x", job_id="a"), scheduler.add("cmpl-b-t0-0-1a2b3c4d", now_s=1), scheduler.add("neither", now_s=2)]
    expect_equal(scheduler.serve(), [request.request_id for request in first], "first turns")
    for request in first:
        scheduler.end(request, now_s=3)
    for id, more in (("c-t0", {}), ("b-t1", {}), ("y", {"job_id": "a"})):
        scheduler.add(id, now_s=4, **more)
    expect_equal(scheduler.serve(), ["y", "b-t1", "c-t0"], "then")


@case("an admission shows the queue only what it admits, and never holds back what names no job")
def admission():
    scheduler = steered("fcfs", "max_active_programs=1")
    requests = [scheduler.add(id) for id in ("a-t0", "b-t0", "someone's")]
    expect_equal((scheduler.serve(), len(scheduler.waiting), bool(scheduler.waiting)), (["a-t0", "someone's"], 1, False), "served")
    scheduler.end(requests[0])
    expect_equal((len(scheduler.waiting), bool(scheduler.waiting)), (1, False), "a job that goes on")
    last = scheduler.add("a-t1", is_last_step=True)
    scheduler.serve()
    scheduler.end(last)
    expect_equal(scheduler.serve(), ["someone's", "b-t0"], "after its last turn")


@case("a silent job loses its place where all others would wait for it: at once if it does not say is_last_step, else after a minute")
def silent():
    for says, patience in ({}, 0), ({"is_last_step": False}, 60):
        scheduler = steered("fcfs", "max_active_programs=1")
        first = scheduler.add("a-t0", **says)
        scheduler.add("b-t0", **says)
        scheduler.serve()
        scheduler.end(first, now_s=1)
        if patience:
            for now_s in 2, 61:
                scheduler.step(now_s)
                expect_equal(scheduler.serve(), [], f"at {now_s} s")
        scheduler.step(now_s=2 + patience)
        expect_equal(scheduler.serve(), ["b-t0"], f"after {patience} s of nothing")
        scheduler.add("a-t1", now_s=63, **says)
        scheduler.step(now_s=64)
        expect_equal(scheduler.serve(), ["b-t0"], "the job that comes back waits")
        scheduler.end(scheduler.running[0], now_s=65)
        scheduler.step(now_s=66)
        scheduler.step(now_s=66 + patience)
        expect_equal(scheduler.serve(), ["a-t1"], "for its turn")


@case("a request of a job that has one already is served beside it, whatever the admission")
def beside():
    scheduler = steered("job_fcfs", "max_active_programs=1")
    for now_s, id in enumerate(("a-t0", "b-t0", "a-t1")):
        scheduler.add(id, now_s=now_s)
    expect_equal(scheduler.serve(), ["a-t0", "a-t1"], "of the job that is served")
    scheduler.add("b-t1", now_s=3)
    expect_equal(scheduler.serve(), ["a-t0", "a-t1", "b-t1"], "of the job that is held back")
    for request in list(scheduler.running):
        scheduler.end(request, now_s=4)
    scheduler.step(now_s=5)
    expect_equal(scheduler.serve(), ["b-t0"], "when the first is over")


@case("a subagent has the place of its root in the order, and no admission holds it back")
def subagents():
    for changes, served in (("", ["a/search-t0", "b-t0"]), ("max_active_programs=1", ["a/search-t0"])):
        scheduler = steered("job_fcfs", changes)
        root = scheduler.add("a-t0")
        scheduler.serve()
        scheduler.end(root, now_s=1)
        for id, at in (("b-t0", 2), ("a/search-t0", 3)):
            scheduler.add(id, now_s=at)
        expect_equal(scheduler.serve(), served, changes)


@case("a pin holds the blocks of a finished request until its time is over, or the cache is emptied")
def pins():
    scheduler = steered("continuum")
    for number, end in enumerate(("time", "emptied")):
        request = scheduler.add(f"{number}-t0", tool="ls")
        scheduler.serve()
        scheduler.end(request, blocks=[3, 4, 5])
        scheduler.step(now_s=1.9)
        expect_equal(scheduler.held, [3, 4, 5], "pinned")
        if end == "time":
            scheduler.step(now_s=2.1)
            expect_equal(scheduler.held, [], "after its time")
        else:
            expect(scheduler.reset_prefix_cache(), "emptied")
    ends = scheduler.add("2-t0", tool="ls", is_last_step="True")
    scheduler.serve()
    scheduler.end(ends, blocks=[6])
    expect_equal(scheduler.held, [], "behind a job's last turn")


@case("pins end for a request that could not run otherwise")
def pressure():
    scheduler = steered("continuum")
    request = scheduler.add("a-t0", tool="ls")
    scheduler.serve()
    scheduler.end(request, blocks=[1, 2])
    scheduler.add("b-t0", tokens=101 * 16)
    scheduler.step()
    expect_equal(scheduler.held, [], "pins")


@case("the request to preempt first has the greatest priority, while memory is short")
def victims():
    scheduler = steered("job_fcfs", "victim=latest_arrival")
    requests = [scheduler.add(id, now_s=at) for at, id in enumerate(("a-t0", "b-t0", "c-t0"))]
    scheduler.serve()
    scheduler.end(requests[0])
    requests.append(scheduler.add("a-t1", now_s=9))
    scheduler.serve()
    scheduler.step()
    expect_equal([request.priority for request in scheduler.running], [0, 0, 0], "with room")
    scheduler.kv_cache_manager.block_pool.free = 1
    scheduler.step()
    ranked = sorted(scheduler.running, key=lambda request: -request.priority)
    expect_equal(([each.request_id for each in ranked], scheduler.policy), (["c-t0", "b-t0", "a-t1"], Order.PRIORITY), "victims")
    scheduler.running.remove(requests[2])
    scheduler.waiting.prepend_request(requests[2])
    expect_equal(scheduler.waiting.peek_request().request_id, "c-t0", "preempted")
    expect_equal(steered("fcfs").policy, Order.FCFS, "order of victims of fcfs")


@case("requests that name no job take the numbers of those that have ended, so that a server may run for long")
def long_running():
    scheduler = steered("job_fcfs")
    for number in range(5):
        request = scheduler.add(f"request {number}", now_s=number)
        scheduler.serve()
        scheduler.end(request, now_s=number)
    expect_equal(scheduler.kvsweep_policy.next_job, 1, "numbers")


@case("an aborted request leaves the queue, and its job ends")
def aborted():
    scheduler = steered("fcfs", "max_active_programs=1")
    scheduler.add("a-t0")
    waits = scheduler.add("b-t0")
    scheduler.serve()
    scheduler.waiting.remove_requests([waits])
    waits.status.name = "FINISHED_ABORTED"
    scheduler._free_request(waits)
    expect_equal((len(scheduler.waiting), bool(scheduler.waiting)), (0, False), "waiting")


@case("a policy that fails or takes too long is left once, with a warning, and all are served in order of arrival")
def left():
    for text, limit, why in ((FAILS, "1e6", "ZeroDivisionError"), (SLOW, "0.15", "KVSWEEP_POLICY_S allows 150.0")):
        said = []
        handler = logging.Handler()
        handler.emit = lambda record: said.append(record.getMessage())
        logging.getLogger("vllm.kvsweep").addHandler(handler)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            with open(path, "w") as file:
                file.write(text)
            scheduler = steered(path, limit_s=limit)
            requests = [scheduler.add(f"{id}-t0") for id in "ab"]
            expect_equal(scheduler.waiting.peek_request().request_id, "b-t0", "the policy's order")
            requests += [scheduler.add(f"{id}-t0") for id in "cd"]
            scheduler.step()
        logging.getLogger("vllm.kvsweep").removeHandler(handler)
        expect_equal([each.request_id for each in scheduler.waiting], ["a-t0", "b-t0", "c-t0", "d-t0"], "stock order")
        expect_equal(scheduler.serve(), ["a-t0", "b-t0", "c-t0", "d-t0"], "served")
        scheduler.end(requests[0])
        expect_equal(len(said), 1, f"warnings ({said})")
        expect_in(why, said[0], "the warning")


@case("a policy that fails between a look at the queue and the taking leaves the request that was shown to be taken")
def fails_between():
    scheduler = steered("job_fcfs")
    first = scheduler.add("a-t0")
    scheduler.serve()
    scheduler.end(first)
    requests = [scheduler.add("b-t0", now_s=1), scheduler.add("a-t1", now_s=2)]
    expect_equal(scheduler.waiting.peek_request().request_id, "a-t1", "shown")
    logging.disable(logging.WARNING)
    scheduler.kvsweep_policy.leave("as told")
    logging.disable(logging.NOTSET)
    expect_equal(scheduler.waiting.pop_request().request_id, "a-t1", "taken")
    expect_equal(list(scheduler.waiting), requests[:1], "the rest")
    scheduler.waiting.peek_request()
    expect_equal(scheduler.waiting.pop_request().request_id, "b-t0", "the next")


@case("a request may send a list for its tool or its job")
def lists():
    scheduler = steered("continuum")
    for number in range(2):
        request = scheduler.add(f"request {number}", tool=["ls", "-l"], job_id=["a"], now_s=number)
        expect_equal(scheduler.serve(), [request.request_id], "served")
        scheduler.end(request, now_s=number)
    expect_equal(scheduler.kvsweep_policy.next_job, 1, "jobs")


@case("what is no policy is refused at start")
def refused():
    with tempfile.TemporaryDirectory() as folder:
        for name in "no.so", "no.toml":
            with open(os.path.join(folder, name), "w") as file:
                file.write("hello\n")
        expect_in("cannot be loaded", refusal(os.path.join(folder, "no.so")), "a text as a shared object")
        expect_in('"hello" is not KEY = VALUE', refusal(os.path.join(folder, "no.toml")), "a text as a policy's file")
        for content, why in (b"", "is no policy's file"), (bytes(range(256)), "is no policy's file"), (b"\xff", "is not KEY = VALUE"):
            with open(os.path.join(folder, "no.toml"), "wb") as file:
                file.write(content)
            expect_in(why, refusal(os.path.join(folder, "no.toml")), f"{content[:9]} as a policy's file")
    for limit in "soon", "0", "-1":
        expect_in(f"KVSWEEP_POLICY_S is {limit}; allowed: seconds above 0", refusal("fcfs", limit_s=limit), "a limit")
    expect_in("kvsweep_policy_table", refusal(LIBRARY), "a shared object without a table")
    expect_in("there is no policy nosuch; looked for ", refusal("nosuch"), "no file")
    for changes, why in (("order=lifo", "lifo"), ("ttl_s=-1", "ttl_s = -1; allowed: numbers from 0 to 1e+06"), ("ttl_s=soon", "ttl_s = soon"),
                         ("tier=offload", "cannot obey policy.tier; allowed: admission, "), ("order=longest_prefix", "needs the cache"), ("order=srpt", "needs the cache"),
                         ("protect_waiting=1", "allowed: true, false"), ("estimator=oracle", "needs recorded gaps"),
                         ("order=plugin", "policy.plugin"), ("max_active_programs=1.5", "whole numbers")):
        expect_in(why, refusal("continuum", changes), changes)
    expect_in("cannot obey policy.tier", refusal("cpu_offload"), "a policy with a host tier")
    expect_in("needs the hashes", refusal("working_set", "shared_prefixes=once"), "prefixes that are not told")


@case("a vLLM of another shape, and a missing library, are refused at start")
def shapes():
    class Bare(Scheduler):
        def __init__(self):
            super().__init__()
            del self.kv_cache_manager.get_blocks

    class Other(Scheduler):
        def __init__(self):
            super().__init__()
            self.waiting = []

    class Groups(Scheduler):
        kv_cache_config = types.SimpleNamespace(kv_cache_groups=[1, 2])

    for base, why in ((Bare, "do not know the scheduler of vLLM 0.33.0: it lacks kv_cache_manager.get_blocks"),
                      (Other, "of vLLM 0.33.0: its queue has RequestQueue"), (Groups, "this one has 2")):
        expect_in(why, refusal("fcfs", cls=type("Of", (ours.Steered, base), {})), why)
    for path, why in ("/nowhere.so", "there is none at /nowhere.so"), (__file__, "is no libkvsweep_policies.so"):
        with environment(KVSWEEP_POLICY="fcfs", KVSWEEP_POLICIES=path):
            try:
                Steered()
            except RuntimeError as error:
                expect_in(why, str(error), "the library")
            else:
                expect(False, "refused")


@case("without KVSWEEP_POLICY the scheduler is the stock one")
def unasked():
    scheduler = Steered()
    expect(type(scheduler.waiting) is Fcfs and scheduler.reset_prefix_cache() and scheduler.kvsweep_policy is None, "stock")


if __name__ == "__main__":
    main()
