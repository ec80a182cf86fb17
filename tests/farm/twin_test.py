"""A server's sweep for our own engine, with the sizes that the server reported. The servers are scripted."""
import json
import os

from cases import case, expect_equal, expect_in, main
from farm import Folder
from scripted import H100, sweep_of

SIZES = "kv_tokens = 8192\nmax_num_seqs = 4 # as in production\n"


def run_of(folder, sweep_file="farm.toml", archive="a.h5", more=H100):
    outcome = folder.run("--archive", archive, *more, sweep_file=sweep_file)
    expect_equal(outcome.code, 0, f"exit code of {sweep_file}, {outcome}")
    return outcome


def twin(folder, *words):
    return folder.start("twin", "farm.toml", "--archive", "a.h5", *words).wait()


@case("a twin has the pool that the server reported, keeps the rest of its sweep, and runs on sim")
def twin_of_server():
    text = sweep_of({"stock": "--num-gpu-blocks-override 301"}).replace(
        "[server.profile.stock]", '[server.profile.stock]\nsim = "fcfs"')
    with Folder(text) as folder:
        run_of(folder)
        written = twin(folder)
        expect_equal(written.code, 0, f"exit code of twin, {written}")
        expect_in("engine.max_num_seqs not reported", written.out, "standard output")
        expected = text.replace('"servers"', '"servers-twin"').replace(
            'backend = "server"', 'backend = "sim"').replace(
            "[engine]\n", "[engine]\nkv_tokens = 4800\nblock_size = 16\n")
        expect_equal(sorted(folder.bytes_of("farm-twin.toml").decode().splitlines()),
                     sorted(expected.splitlines()), "the twin")
        run_of(folder, "farm-twin.toml", "twin.h5", ())
        predicted = folder.start("fit", "a.h5", "twin.h5").wait().out
        for figure in "jct_wall_p99_s", "ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "preemptions":
            expect_in(figure, predicted, "figures beside each other")
        told = folder.start("compare", "twin.h5", "a.h5", "--by", "backend,jps").wait()
        expect_equal(told.code, 0, f"exit code of compare, {told}")
        planned = folder.start("plan", "farm-twin.toml", "--backend", "cuda").wait()
        expect_equal(planned.code, 0, f"exit code of plan, {planned}")
        expect_equal(planned.err.count("no effect"), 1, f"lines on keys without effect, {planned}")
        expect_in("server.* (all but the sim of profiles) has no effect on backend cuda", planned.err, "message")
        again = twin(folder)
        expect_equal(again.code, 2, f"exit code, {again}")
        expect_in("exists already", again.err, "message")


@case("servers of different sizes have no twin together, and one each")
def different_sizes():
    flags = {"small": "--num-gpu-blocks-override 301", "large": "--num-gpu-blocks-override 401"}
    with Folder(sweep_of(flags, jps=(50,))) as folder:
        run_of(folder)
        refused = twin(folder)
        expect_equal(refused.code, 2, f"exit code, {refused}")
        expect_in("engine.kv_tokens was 4800 in", refused.err, "message")
        expect_in("and 6400 in", refused.err, "message")
        written = twin(folder, "--only", "policy=large", "-o", folder.file("large.toml"))
        expect_equal(written.code, 0, f"exit code, {written}")
        expect_in("\nkv_tokens = 6400\n", folder.bytes_of("large.toml").decode(), "the twin")


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
            expect_equal("fitted to steps of vllm 0.26 itself" in outcome.out, name != "own", f"whose steps, {outcome}")
            cells = folder.start("export", f"{name}.h5", "--table", "cells", "--format", "jsonl").wait().out
            constants[name] = json.loads(json.loads(cells.splitlines()[0])["config_json"])["sim.constants"].split()
        expect_equal([constants[name][1] for name in ("own", "sync", "async")],
                     ["base_ms=4.344", "base_ms=7.75", "base_ms=5.15"], "base_ms")
        for settings, why in ((("sim.server=vllm 0.27",), "has for this model: vllm 0.26.async, vllm 0.26.sync"),
                              (("sim.server=vllm 0.26", "model=qwen2.5-7b"), "has for this model: none"),
                              (("sim.server=vllm 0.26", "sim.cost_model=kernels"), 'needs sim.cost_model "measured"')):
            refused = folder.run("--archive", "no.h5", *(word for each in settings for word in ("--set", each)))
            expect_equal(refused.code, 2, f"exit code, {refused}")
            expect_in(why, refused.err, "message")


@case("measured cells of a server stand beside what the simulator says with the constants of its steps, figure by figure")
def judged():
    with Folder(SIMULATED) as folder:
        measured = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sweeps", "measured", "vllm-h200.h5")
        told = folder.start("twin", measured).wait()
        expect_equal(told.code, 0, f"exit code, {told}")
        rows = [line.split() for line in told.out.splitlines() if "142848" in line and "policy=order" in line]
        expect_equal([row[-5] if row[-1] in ("%", "points") else row[-4] for row in rows[1:]],
                     ["jct_wall_mean_s", "jct_wall_p99_s", "ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "prefix_hit_rate", "preemptions"],
                     f"figures of a cell, {told}")
        expect_equal(abs(float(rows[0][-1])) < 3, True, f"off by less than 3 %, {told}")
        unknown = folder.start("twin", measured, "--set", "sim.server=vllm 0.27").wait()
        expect_equal(unknown.code, 2, f"exit code, {unknown}")
        expect_equal(unknown.out.count("not modelled: "), 6, f"cells, {unknown}")
        folder.run("--archive", "own.h5")
        refused = folder.start("twin", "own.h5").wait()
        expect_equal(refused.code, 2, f"exit code, {refused}")
        expect_in("own.h5 has no result of backend server", refused.err, "message")


@case("a server that has other sizes than server.match asks for is not measured")
def other_sizes():
    flags = {"stock": "", "less": "--fault pool"}
    text = sweep_of(flags, jps=(50,), engine=SIZES).replace("[server]", "[server]\nmatch = true")
    with Folder(text) as folder:
        outcome = folder.run("--archive", "a.h5", *H100)
        expect_equal(outcome.code, 4, f"exit code, {outcome}")
        expect_in("server.match: engine.kv_tokens is 8192, but the server reports 7936", outcome.out,
                  "standard output")
        written = twin(folder, "--only", "policy=stock")
        expect_equal(written.code, 0, f"exit code of twin, {written}")
        expect_in("engine.kv_tokens 8192", written.out, "standard output")
        expect_in("max_num_seqs = 4 # as in production", folder.bytes_of("farm-twin.toml").decode(),
                  "the twin")


if __name__ == "__main__":
    main()
