"""Cells in which a server was measured, beside what the simulator says of them. The servers of the last case are scripted."""
import json
import os

from cases import case, expect_equal, expect_in, main
from farm import Folder
from scripted import H100, sweep_of

def kept(name):
    """An archive of measured cells."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sweeps", "measured", name)


SIMULATED = """schema = 1
[sweep]
name = "simulated"
backend = "sim"
[axes]
gpu = ["h200-141gb"]
policy = ["fcfs", "job_fcfs"]
jps = [1]
[workload]
kind = "swe_smith_like"
jobs = 2
"""


@case("a simulated cell takes the constants of the server that it names, for the way in which it schedules")
def steps_of_server():
    constants = {}
    with Folder(SIMULATED) as folder:
        for name, settings in {"own": (), "sync": ("sim.server=vllm 0.26",),
                               "async": ("sim.server=vllm 0.26", "engine.async_scheduling=true")}.items():
            outcome = folder.run("--archive", f"{name}.h5", *(word for each in settings for word in ("--set", each)))
            expect_equal(outcome.code, 0, f"exit code, {outcome}")
            cells = folder.start("export", f"{name}.h5", "--table", "cells", "--format", "jsonl").wait().out
            constants[name] = json.loads(json.loads(cells.splitlines()[0])["config_json"])["sim.constants"].split()
        expect_equal([constants[name][1] for name in ("own", "sync", "async")],
                     ["base_ms=4.344", "base_ms=7.75", "base_ms=4.923"], "base_ms")
        for settings, why in ((("sim.server=vllm 0.27",), "has for this model: vllm 0.26.async, vllm 0.26.sync"),
                              (("sim.server=vllm 0.26", "model=qwen2.5-7b"), "has for this model: none"),
                              (("sim.server=vllm 0.26", "sim.cost_model=kernels"), 'needs sim.cost_model "measured"')):
            refused = folder.run("--archive", "no.h5", *(word for each in settings for word in ("--set", each)))
            expect_equal(refused.code, 2, f"exit code, {refused}")
            expect_in(why, refused.err, "message")


@case("measured cells of a server stand beside what the simulator says with the constants of its steps, figure by figure")
def judged():
    with Folder(SIMULATED) as folder:
        measured = kept("vllm-h200.h5")
        told = folder.start("twin", measured).wait()
        expect_equal(told.code, 0, f"exit code, {told}")
        rows = [line.split() for line in told.out.splitlines() if "142848" in line and "policy=order" in line]
        expect_equal([row[4] for row in rows],
                     ["jct_wall_mean_s", "jct_wall_p99_s", "ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "prefix_hit_rate", "preemptions"],
                     f"figures of a cell, {told}")
        expect_equal(abs(float(rows[0][7])) < 3, True, f"off by less than 3 %, {told}")
        unknown = folder.start("twin", measured, "--set", "sim.server=vllm 0.27").wait()
        expect_equal(unknown.code, 2, f"exit code, {unknown}")
        expect_equal(unknown.out.count("not modelled: "), 6, f"cells, {unknown}")
        folder.run("--archive", "own.h5")
        refused = folder.start("twin", "own.h5").wait()
        expect_equal(refused.code, 2, f"exit code, {refused}")
        expect_in("own.h5 has no measured result", refused.err, "message")


@case("cells of recorded agents are judged by the recording that they read, and by no other")
def other_recording():
    with Folder(SIMULATED) as folder:
        jobs = [{"job": f"j{i}", "arrival_s": 0, "turns": [{"prompt": [[None, 20, "user"]], "answer": [[None, 5]]}]} for i in range(10)]
        head = {"kvsweep_trace": 1, "converter": "test", "counts": {"jobs": 10, "turns": 10, "prompt_tokens": 200, "answer_tokens": 50,
                                                                    "arrivals": 10, "gaps": 0, "starts": 0}}
        folder.write("other.jsonl", "".join(json.dumps(line) + "\n" for line in (head, *jobs)))
        told = folder.start("twin", kept("vllm-claude-h200.h5"), "--set", f"workload.path={folder.file('other.jsonl')}", "--set",
                            "workload.min_turns=1").wait()
        expect_equal(told.code, 2, f"exit code, {told}")
        expect_in("--set workload.path names another file than they read", told.out, "why")


@case("constants are fitted to the steps of some cells, and the others are judged by them")
def fitted():
    with Folder(SIMULATED) as folder:
        told = folder.start("twin", kept("vllm-h200-steps.h5"), "--fit", "policy=order").wait()
        expect_equal(told.code, 0, f"exit code, {told}")
        expect_in("fitted to 1 cell, which is not judged:", told.out, "the cells")
        expect_in("step = 4.92 ms + 20.89 us", told.out, "the constants")
        rows = [line for line in told.out.splitlines() if line.startswith("gpu=") and "jct_wall_mean_s" in line]
        expect_equal([("policy=offload" in row, row.split()[-1]) for row in rows], [(True, "%"), (True, "%")], f"judged cells, {told}")
        own = folder.start("twin", kept("vllm-h200-steps.h5"), "--fit", "policy=order", "--set", "sim.server=none").wait()
        expect_equal(own.code, 0, f"exit code, {own}")
        expect_equal(own.out == told.out, False, "without --set the rules are those of the server, not the engine's own")
        for fit, why in (("policy=order,offload", "--fit leaves no cell to judge"), ("policy=none", 'found "none"')):
            refused = folder.start("twin", kept("vllm-h200-steps.h5"), "--fit", fit).wait()
            expect_equal(refused.code, 2, f"exit code, {refused}")
            expect_in(why, refused.err, "message")
        refused = folder.start("twin", kept("vllm-policies-h200.h5"), "--fit", "policy=job_fcfs").wait()
        expect_equal(refused.code, 2, f"exit code, {refused}")
        expect_in("steps", refused.err, "message")


@case("a policy inside a server is simulated with the values that the server's had")
def given_values():
    with Folder(SIMULATED) as folder:
        told = folder.start("twin", kept("vllm-policies-h200.h5"), "--only", "policy=working_set,engine.kv_tokens=142848").wait()
        expect_equal(told.code, 0, f"exit code, {told}")
        rows = [line.split() for line in told.out.splitlines() if line.startswith("gpu=") and " jct_wall_mean_s " in line]
        modelled = {row[-7] if row[-7].startswith("first_wait") else "": row[-4] for row in rows}
        expect_equal(sorted(modelled), ["", "first_wait_s=2", "first_wait_s=5"], f"cells, {told}")
        expect_equal(len(set(modelled.values())), 3, f"different means, {told}")
        expect_equal({row[-1] for row in rows}, {"-"}, "cells with other values are no seeds of each other")


@case("the gains of policies inside vLLM are claims that measured cells reproduce")
def claimed():
    with Folder(SIMULATED) as folder:
        told = folder.start("claims", kept("vllm-policies-h200.h5"), "--set", "vllm").wait()
        expect_equal(told.code, 0, f"exit code, {told}")
        expect_in("4 reproduced (claims", told.out, "the verdict")


@case("a server that has other sizes than server.match asks for is not measured")
def other_sizes():
    flags = {"stock": "", "less": "--fault pool"}
    text = sweep_of(flags, jps=(50,), engine="kv_tokens = 8192\nmax_num_seqs = 4\n").replace("[server]", "[server]\nmatch = true")
    with Folder(text) as folder:
        outcome = folder.run("--archive", "a.h5", *H100)
        expect_equal(outcome.code, 4, f"exit code, {outcome}")
        expect_in("server.match: engine.kv_tokens is 8192, but the server reports 7936", outcome.out,
                  "standard output")


if __name__ == "__main__":
    main()
