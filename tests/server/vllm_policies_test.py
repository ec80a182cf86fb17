"""Policies of kvsweep inside the genuine scheduler of a vLLM that is installed, beside kvsweep's own engine: step by step, without a GPU."""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "farm"), os.path.join(HERE, "..", "..", "analysis", "python")]
from cases import case, expect, expect_equal, main, skip
from vllm_genuine import computed, request_of, require_vllm, scheduler_of

PROGRAM = os.environ.get("KVSWEEP_PROGRAM", "")
# How the engine decides as a version does.
ENGINES = {"0.26": ("v1", "partial_first"), "0.33": ("vllm-0.33", "lru")}
SWEEP = """schema = 1
[sweep]
name = "steps"
backend = "sim"
[axes]
gpu = ["h200-141gb"]
policy = ["{policy}"]
"policy.eviction" = ["{eviction}"]
jps = [3]
[engine]
scheduler = "{version}"
kv_tokens = {pool}
block_size = 16
max_num_batched_tokens = 512
max_model_len = 16384
[workload]
kind = "swe_smith_like"
jobs = 12
gap_s = 1.0
"""


AGENTS = """[workload]
kind = "trace"
path = "t.jsonl"
"""


def write_agents(path, jobs=10, turns=6):
    """A trace of jobs whose first turn spawns a subagent that runs beside the other turns."""
    draw, lines, tokens = random.Random(5), [], [0, 0]

    def turn(prompt, **more):
        answer = draw.randint(20, 120)
        tokens[1] += answer
        return {"prompt": [[None, prompt]], "answer": [[None, answer]], "gap_s": round(draw.uniform(0.2, 2), 3), **more}

    for job in range(jobs):
        chain = []
        for agent in ("main", "helper"):
            held = 0
            for number in range(turns):
                prompt, link = draw.randint(200, 1500), {"agent": agent}
                if number:
                    link["extends"] = len(chain) - 1
                elif chain:
                    link["after"] = [0]
                chain.append(turn(prompt, **link))
                tokens[0] += held + prompt
                held += prompt + chain[-1]["answer"][0][1]
        lines.append({"job": f"j{job}", "arrival_s": job / 3, "turns": chain})
    counts = {"jobs": jobs, "turns": 2 * turns * jobs, "prompt_tokens": tokens[0], "answer_tokens": tokens[1], "arrivals": jobs,
              "gaps": 2 * turns * jobs, "starts": 0}
    with open(path, "w") as file:
        for line in [{"kvsweep_trace": 1, "converter": "test", "counts": counts}, *lines]:
            file.write(json.dumps(line) + "\n")


def steered(policy, changes="", **sizes):
    """A scheduler that follows the policy."""
    require_vllm()
    import kvsweep.vllm as ours
    os.environ.update(KVSWEEP_POLICY=policy, KVSWEEP_POLICY_SET=changes, KVSWEEP_POLICY_S="1e6",
                      KVSWEEP_POLICIES=os.path.join(os.path.dirname(PROGRAM), "libkvsweep_policies.so"))
    try:
        return scheduler_of(ours.AsyncScheduler if sizes.get("is_async") else ours.Scheduler, **sizes)
    finally:
        del os.environ["KVSWEEP_POLICY"]


class Cell:
    """What kvsweep's engine did, step by step."""

    def __init__(self, policy, pool, agents=False, changes=""):
        import vllm
        if not vllm.__version__.startswith(tuple(ENGINES)):
            skip(f"the engine does not know vLLM {vllm.__version__}")
        version, eviction = ENGINES[vllm.__version__[:4]]
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "s.toml"), "w") as file:
                text = SWEEP.format(policy=policy, pool=pool, version=version, eviction=eviction)
                if changes:
                    text = text.replace("[engine]", f"[policy]\n{changes}\n[engine]")
                file.write(text.split("[workload]")[0] + AGENTS if agents else text)
            write_agents(os.path.join(folder, "t.jsonl"))
            run = subprocess.run([PROGRAM, "run", "s.toml", "--archive", "a.h5"], cwd=folder, capture_output=True, text=True)
            expect_equal(run.returncode, 0, run.stderr)
            self.turns, self.steps, self.shares, self.jobs = (self.table(folder, name) for name in ("turns", "steps", "sched", "jobs"))
        self.turns.sort(key=lambda turn: (turn["t_arrive_s"], turn["job"]))
        # The beginning that all jobs share, in whole blocks.
        self.shared = max(turn["cached_gpu_tok"] for turn in self.turns if turn["turn"] == 0)
        self.batches, self.requests = collections.defaultdict(list), {}
        for share in self.shares:
            if share["kind"] != "preempted":
                self.batches[share["step"]].append((share["job"], share["turn"], share["tokens"]))

    @staticmethod
    def table(folder, name):
        command = [PROGRAM, "export", "a.h5", "--table", name, "--format", "jsonl"]
        return [json.loads(line) for line in subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.splitlines()]

    def token(self, job, position):
        """Of a job, or of one of its subagents: a number of its own."""
        return position + 1 if position < self.shared else (job + 1) * 100_000 + position

    def request(self, turn):
        """Its id has the numbers of the job and of the turn in it, and of its agent."""
        job, agent = turn["job"], turn["agent"]
        number = sum(other["job"] == job and other["agent"] == agent and other["t_arrive_s"] < turn["t_arrive_s"] for other in self.turns)
        prompt = [self.token(job + 1000 * agent, at) for at in range(turn["prompt_tok"])]
        made = request_of(f"{job}{'/' if agent else ''}{agent or ''}-t{number}", prompt, turn["output_tok"],
                          {"is_last_step": turn["last"], "tool": turn["tool"]})
        self.requests[made.request_id] = turn
        return made


def ns(seconds):
    return round(seconds * 1e9)


def replay(cell, scheduler):
    """Gives the scheduler the cell's turns at the steps at which the engine had them. The steps, as the engine's."""
    policy, waiting, found = scheduler.kvsweep_policy, collections.deque(cell.turns), []
    policy.began = 0
    for step in cell.steps:
        start = ns(step["t_s"])
        while waiting and ns(waiting[0]["t_arrive_s"]) <= start:
            policy.clock = lambda at=ns(waiting[0]["t_arrive_s"]): at
            scheduler.add_request(cell.request(waiting.popleft()))
        scheduler.has_requests()  # as the loops of both ask before a step
        policy.clock = lambda: start
        output = scheduler.schedule()
        policy.clock = lambda: start + ns(step["dur_s"])
        of = cell.requests
        batch = [(of[id]["job"], of[id]["turn"], count) for id, count in output.num_scheduled_tokens.items()]
        yield step, batch, len(output.preempted_req_ids or ())
        computed(scheduler, output,
                 lambda request: cell.token(of[request.request_id]["job"] + 1000 * of[request.request_id]["agent"], request.num_tokens))
    expect(not waiting and not scheduler.requests, "all turns have ended")


def same_steps(policy, pool, preempts=0, pins=0, holds=0, agents=False, changes=""):
    """The steps are the engine's; at least so many requests are preempted, pinned at once, and steps in which some are held back."""
    require_vllm()
    cell = Cell(policy, pool, agents, changes)
    scheduler = steered(policy, changes, blocks=pool // 16)
    preempted = pinned = held = 0
    for step, batch, victims in replay(cell, scheduler):
        number, ours = step["step"], scheduler.kvsweep_policy
        expect_equal(batch, cell.batches[number], f"{policy}, step {number}")
        expect_equal(victims, step["n_preempted"], f"{policy}, preempted in step {number}")
        expect_equal(len(ours.pins), step["pinned_jobs"], f"{policy}, pinned in step {number}")
        preempted, pinned = preempted + victims, max(pinned, len(ours.pins))
        held += len(scheduler.waiting) > 0 and not scheduler.waiting
    expect(scheduler.kvsweep_policy.handle is not None, "the policy was not left")
    expect(preempted >= preempts and pinned >= pins and held >= holds, f"{preempted} preempted, {pinned} pinned, {held} times held")


@case("fcfs inside vLLM makes the steps of kvsweep's engine")
def fcfs():
    same_steps("fcfs", 24000, preempts=1)


@case("job_fcfs inside vLLM makes the steps of kvsweep's engine")
def job_fcfs():
    same_steps("job_fcfs", 24000)


@case("working_set inside vLLM makes the steps of kvsweep's engine")
def working_set():
    same_steps("working_set", 24000, holds=1000)


@case("a bound on first waits inside vLLM makes the steps of kvsweep's engine")
def first_wait():
    for seconds in (0, 2):
        same_steps("working_set", 24000, holds=100, changes=f"first_wait_s={seconds}")


@case("continuum inside vLLM makes the steps of kvsweep's engine")
def continuum():
    same_steps("continuum", 24000, preempts=4, pins=3)


@case("orders by job and admissions treat subagents inside vLLM as kvsweep's engine does")
def subagents():
    same_steps("job_fcfs", 24000, agents=True)
    same_steps("working_set", 24000, holds=100, agents=True)


def generated(seed, count=24):
    """(step of arrival, request) of jobs with two turns that share beginnings; every third request names no job."""
    draw = random.Random(seed)
    for number in range(count):
        job, turn = number // 2, number % 2
        prompt = [job * 10_000 + at for at in range(draw.randint(20, 100) + 80 * turn)]
        id = f"{job}-t{turn}" if number % 3 else f"request-{number}"
        yield draw.randint(0, 40), request_of(id, prompt, draw.randint(1, 150))


def steps_of(scheduler, is_async):
    """What the scheduler decides about generated requests: with asynchronous scheduling a batch's tokens come a step late."""
    due, batches, found = sorted(generated(7), key=lambda each: each[0]), collections.deque(), []
    for step in range(2000):
        while due and due[0][0] <= step:
            scheduler.add_request(due.pop(0)[1])
        if step == 30:
            scheduler.finish_requests([next(iter(scheduler.requests))], RequestStatus().FINISHED_ABORTED)
        output = scheduler.schedule()
        found.append((list(output.num_scheduled_tokens.items()), sorted(output.preempted_req_ids or ()), sorted(output.finished_req_ids),
                      [request.request_id for request in scheduler.running], len(scheduler.waiting)))
        batches.append(output)
        while len(batches) > is_async:
            computed(scheduler, batches.popleft(), lambda request: 7_000_000 + request.num_tokens)
        if not (due or scheduler.requests):
            return found
    raise AssertionError("requests have not ended")


def RequestStatus():
    from vllm.v1.request import RequestStatus
    return RequestStatus


def stock_steps(is_async):
    require_vllm()
    import kvsweep.vllm as ours
    cls = ours.StockAsyncScheduler if is_async else ours.StockScheduler
    return steps_of(scheduler_of(cls, blocks=40, is_async=is_async), is_async)


@case("fcfs through kvsweep is stock vLLM, decision by decision, with and without asynchronous scheduling")
def stock():
    for is_async in False, True:
        expected = stock_steps(is_async)
        expect(sum(len(step[1]) for step in expected) > 3, "preemptions")
        expect_equal(steps_of(steered("fcfs", blocks=40, is_async=is_async), is_async), expected, f"steps, asynchronous {is_async}")


@case("jobs that never say is_last_step are all served, however few may be active")
def never_last():
    for is_async in False, True:
        steps = steps_of(steered("job_fcfs", "max_active_programs=2", blocks=40, is_async=is_async), is_async)
        expect(max(step[4] for step in steps) > 1, "some wait")


@case("a plugin that fails at its first turn leaves stock vLLM, decision by decision")
def fails():
    expected = stock_steps(False)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fails.py")
        with open(path, "w") as file:
            file.write("from kvsweep_policy import Policy\nclass Fails(Policy):\n    def rank_turn(self, waiting, now_ns):\n        1 / 0\n")
        scheduler = steered(path, blocks=40)
        found = steps_of(scheduler, False)
        expect(scheduler.kvsweep_policy.handle is None, "left")
        expect_equal(found, expected, "steps")


if __name__ == "__main__":
    main()
