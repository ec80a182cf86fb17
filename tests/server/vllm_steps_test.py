"""kvsweep's schedulers for vLLM, with stand-ins for what they take from it; and their shape beside a vLLM that is installed."""
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "analysis", "python")
sys.path[:0] = [os.path.join(HERE, "..", "farm"), PACKAGE]
from cases import case, expect, expect_equal, expect_in, main, skip

INSTALLED = importlib.util.find_spec("vllm") is not None


@dataclasses.dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict = dataclasses.field(default_factory=dict)
    scheduled_new_reqs: list = dataclasses.field(default_factory=list)
    scheduled_cached_reqs: object = None
    total_num_scheduled_tokens: int = 0
    preempted_req_ids: object = None
    finished_req_ids: set = dataclasses.field(default_factory=set)
    kv_connector_metadata: object = None


class Scheduler:
    """Gives out the outputs of a script; what waits and runs stands in them."""

    def __init__(self, script, is_async=False):
        self.script, self.requests, self.running, self.waiting, self.block_size = list(script), {}, [], [], 16
        self.scheduler_config = types.SimpleNamespace(async_scheduling=is_async)

    def schedule(self, throttle_prefills=False):
        self.running, self.waiting, output = self.script.pop(0)
        return output

    def shutdown(self):
        pass


class AsyncScheduler(Scheduler):
    pass


def stand_in():
    names = {"vllm": {"__version__": "0.26.0"}, "vllm.v1.core.sched.output": {"SchedulerOutput": SchedulerOutput},
             "vllm.v1.core.sched.scheduler": {"Scheduler": Scheduler},
             "vllm.v1.core.sched.async_scheduler": {"AsyncScheduler": AsyncScheduler}}
    for name in "vllm.v1", "vllm.v1.core", "vllm.v1.core.sched", *names:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(names.get(name, {}))


stand_in()
import kvsweep.vllm as ours


def output(batch=None, new=(), resumed=(), preempted=None, finished=(), meta=None):
    """`new` and `resumed`: {id: tokens found}."""
    batch, resumed = batch or {}, dict(resumed)
    cached = types.SimpleNamespace(req_ids=[id for id in batch if id not in dict(new)], resumed_req_ids=set(resumed),
                                   num_computed_tokens=[resumed.get(id, 99) for id in batch if id not in dict(new)])
    return SchedulerOutput(batch, [types.SimpleNamespace(req_id=id, num_computed_tokens=found) for id, found in dict(new).items()],
                           cached, sum(batch.values()), preempted, set(finished), meta)


def lines_of(script, requests=None, cls=None):
    """The lines behind the first one, without times, of a server that takes these steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.jsonl")
        os.environ["KVSWEEP_STEPS"] = path
        scheduler = (cls or ours.Scheduler)(script, is_async=cls is ours.AsyncScheduler)
        scheduler.requests.update(requests or {})
        for _ in script:
            scheduler.schedule()
        with open(path) as file:
            lines = [json.loads(line) for line in file]
        del os.environ["KVSWEEP_STEPS"]
    expect_equal([lines[0]["kvsweep_steps"], lines[0]["vllm"], lines[0]["async"], lines[0]["block_size"]],
                 [ours.VERSION, "0.26.0", cls is ours.AsyncScheduler, 16], "first line")
    for line in lines[1:]:
        expect(all(line.pop(name) >= 0 for name in ("t", "plan_us", "log_us")), "times")
    return lines[1:]


@case("a line has the requests of a step in scheduled order as numbers, which are introduced once")
def numbers():
    found = lines_of([(["a"], [], output({"a": 2048}, new={"a": 16})), (["a", "b"], ["c"], output({"a": 7, "b": 1}, new={"b": 63})),
                      (["a", "b"], [], output({"b": 1, "a": 1})), ([], [], output(finished=["a", "b"]))])
    expect_equal(found[0], {"ids": {"0": "a"}, "batch": [[0, 2048]], "tokens": 2048, "new": [[0, 16, 0]], "run": 1, "wait": 0}, "a chunk")
    expect_equal(found[1], {"ids": {"1": "b"}, "batch": [[0, 7], 1], "tokens": 8, "new": [[1, 63, 0]], "run": 2, "wait": 1}, "two")
    expect_equal(found[2], {"batch": [1, 0], "tokens": 2, "run": 2, "wait": 0}, "decodes")
    expect_equal(sorted(found[3].pop("finished")), [0, 1], "finished")


@case("preempted and resumed requests keep their number; a finished one gives its id back")
def preempted():
    found = lines_of([(["a"], [], output({"a": 40}, new={"a": 0})), ([], ["a"], output(preempted={"a"})),
                      (["a"], [], output({"a": 9}, resumed={"a": 32})), (["a"], [], output({"a": 5}, new={"a": 0}, finished=["a"])),
                      ([], [], output(finished=["a", "never scheduled"]))])
    expect_equal(found[1], {"preempted": [0], "run": 0, "wait": 1}, "preempted")
    expect_equal(found[2], {"batch": [[0, 9]], "tokens": 9, "resumed": [[0, 32, 0]], "run": 1, "wait": 0}, "resumed")
    expect_equal(found[4], {"finished": [1], "run": 0, "wait": 0}, "the second of this id")


@case("a request that comes back among the new ones of a step is a resumed one")
def resumed_as_new():
    found = lines_of([(["a"], [], output({"a": 40}, new={"a": 0})), ([], ["a"], output(preempted={"a"})),
                      (["a"], [], output({"a": 9, "b": 3}, new={"a": 32, "b": 16})), ([], [], output(finished=["a", "b"]))])
    expect_equal((found[2]["resumed"], found[2]["new"]), ([[0, 32, 0]], [[1, 16, 0]]), "resumed and new")


def copies(loads=(), stores=()):
    """Of [(id, blocks)]: the metadata of vLLM's OffloadingConnector."""
    def job(id, blocks, side):
        return types.SimpleNamespace(req_id=id, **{side: types.SimpleNamespace(block_ids=list(range(blocks)))})

    return types.SimpleNamespace(load_jobs={i: job(id, n, "dst_spec") for i, (id, n) in enumerate(loads)},
                                 store_jobs={i: job(id, n, "src_spec") for i, (id, n) in enumerate(stores)})


@case("a load that begins names its request, which is a new one when it is scheduled, with its tokens from outside the GPU")
def outside():
    stats = types.SimpleNamespace(prefill_stats=types.SimpleNamespace(num_external_cached_tokens=48))
    found = lines_of([([], ["a"], output(meta=copies(loads=[("a", 3)]))), (["a"], [], output({"a": 40}, new={"a": 64})),
                      ([], [], output(finished=["a"]))], requests={"a": stats})
    expect_equal(found[0], {"ids": {"0": "a"}, "loads": [[0, 3]], "run": 0, "wait": 1}, "load")
    expect_equal((found[1]["new"], "resumed" in found[1], "loads" in found[1]), ([[0, 64, 48]], False, False), "scheduled")


@case("stores are counted in blocks, those of a request that has ended too")
def stored():
    found = lines_of([(["a"], [], output({"a": 40}, new={"a": 0}, meta=copies(stores=[("a", 2)]))),
                      ([], [], output(finished=["a"], meta=copies(stores=[("a", 4), ("b", 1)])))])
    expect_equal((found[0]["stores"], found[1]["stores"], "ids" in found[1]), (2, 5, False), "stores")


@case("a preempted request that comes back by a load is a resumed one")
def loaded_again():
    found = lines_of([(["a"], [], output({"a": 40}, new={"a": 0})), ([], ["a"], output(preempted={"a"})),
                      ([], ["a"], output(meta=copies(loads=[("a", 2)]))), (["a"], [], output({"a": 9}, new={"a": 32})),
                      ([], [], output(finished=["a"]))])
    expect_equal((found[3]["resumed"], "new" in found[3]), ([[0, 32, 0]], False), "resumed")


@case("two calls behind a step have lines, and idle ones behind those have none")
def idle():
    nothing = (["a"], [], output())
    found = lines_of([(["a"], [], output({"a": 1}, new={"a": 0}))] + [nothing] * 5 + [([], [], output(finished=["a"]))], cls=ours.AsyncScheduler)
    expect_equal(["batch" in line or "finished" in line for line in found], [True, False, False, True], "lines")


@case("without KVSWEEP_STEPS the scheduler is the stock one and writes nothing")
def unasked():
    scheduler = ours.Scheduler([([], [], output())], is_async=True)
    expect(scheduler.step_log is None and scheduler.schedule() is not None, "stock")


@case("a scheduler of another shape, or one for the other way to schedule, ends the start with vLLM's version")
def shapes():
    def refusal(cls):
        try:
            lines_of([], cls=cls)
        except RuntimeError as error:
            return str(error)
        return "accepted"

    stock = Scheduler.__init__
    try:
        def without_running(self, *arguments, **options):
            stock(self, *arguments, **options)
            del self.running
        Scheduler.__init__ = without_running
        expect_in("does not know the scheduler of vLLM 0.26.0, which lacks running", refusal(ours.Scheduler), "shape")

        def other_way(self, script, is_async):
            stock(self, script, not is_async)
        Scheduler.__init__ = other_way
        expect_in("give it kvsweep.vllm.AsyncScheduler", refusal(ours.Scheduler), "asynchronous")
        expect_in("give it --no-async-scheduling", refusal(ours.AsyncScheduler), "synchronous")
    finally:
        Scheduler.__init__ = stock


@case("the vLLM that is installed has the scheduler that is expected")
def genuine():
    if not INSTALLED:
        skip("Python has no vllm")
    script = ("import dataclasses, kvsweep.vllm as o; f = {e.name for e in dataclasses.fields(o.SchedulerOutput)}; "
              "assert o.FIELDS <= f, o.FIELDS - f; "
              "assert issubclass(o.AsyncScheduler, o.StockAsyncScheduler) and issubclass(o.Scheduler, o.StockScheduler)")
    run = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, text=True)
    expect_equal(run.returncode, 0, run.stderr[-2000:])


if __name__ == "__main__":
    main()
