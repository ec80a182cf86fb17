"""Policies of shared objects, as a user of the program writes, builds and runs them."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
import archives  # noqa: E402
from cases import case, expect_equal, expect_in, main  # noqa: E402
from farm import Folder, PROGRAM, sweep  # noqa: E402

SOME_FAILED = 3
PLUGINS = os.environ["KVSWEEP_TEST_PLUGINS"]


def plugin(name):
    return os.path.join(PLUGINS, name + ".so")


def both_orders(name):
    """A cell that the plugin orders, and one without it."""
    text = sweep(gpus=("h100-80gb",), policies=("fcfs",), jps=(1,), repeats=1)
    axes = f'jps = [1]\n"policy.plugin" = ["{plugin(name)}"]\n"policy.order" = ["fcfs", "plugin"]'
    return text.replace("jps = [1]", axes)


def rows_by_order(folder):
    return {row["policy.order"]: row for row in archives.cells(folder.file("a.h5")).values()}


def words(command, folder):
    print(" ".join(command), flush=True)
    done = subprocess.run(command, cwd=folder.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect_equal(done.returncode, 0, f"exit code of {command}, {done.stdout}")
    return done.stdout


def plugin_ends_as(name, status, reason):
    """The cell that the plugin of this name orders, beside one that it does not, which is done."""
    archives.need_h5py()
    with Folder(both_orders(name)) as folder:
        outcome = folder.run("--archive", "a.h5", workers=2)
        expect_equal(outcome.code, SOME_FAILED, f"exit code, {outcome}")
        rows = rows_by_order(folder)
        expect_equal(rows["plugin"]["status"], status, "status of the plugin's cell")
        expect_in(reason, rows["plugin"]["reason"], "reason")
        expect_equal(rows["fcfs"]["status"], "ok", "status of the other cell")


@case("a plugin that crashes costs its process only, and the second crash quarantines its cell")
def crash():
    plugin_ends_as("crash", "quarantined", "was lost to signal 11 (Segmentation fault)")


@case("a plugin that crashes costs a plan the simulation of its cells alone")
def planned():
    with Folder(both_orders("crash")) as folder:
        outcome = folder.start("plan", "farm.toml", "--json").wait()
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        cells = {"plugin" in cell["label"].split("order=")[1]: cell for cell in json.loads(outcome.out)["cells"]}
        expect_equal([cells[False]["simulated"], cells[True]["simulated"]], [True, False], "whether cells were simulated")


@case("an answer of a plugin that makes no sense fails its cell alone, with the reason in the archive")
def no_rank():
    plugin_ends_as("no_rank", "failed", "policy.plugin gives turn 2 of job ")


@case("a plugin that changes makes its cells run again, and no others")
def changed():
    archives.need_h5py()
    with Folder(both_orders("fcfs_lru").replace(plugin("fcfs_lru"), "mine.so")) as folder:
        shutil.copy(plugin("fcfs_lru"), folder.file("mine.so"))
        expect_equal(len(folder.run("--archive", "a.h5", workers=2).finished()), 2, "cells of the first run")
        expect_equal(folder.run("--archive", "a.h5", workers=2).finished(), [], "cells of the same run again")
        os.remove(folder.file("mine.so"))
        shutil.copy(plugin("latest_first"), folder.file("mine.so"))
        again = folder.run("--archive", "a.h5", workers=2).finished()
        expect_equal(len(again), 1, f"cells with another plugin, {again}")
        expect_in("policy.order=plugin", again[0], "cell that runs again")


@case("the bound of cells that a plugin decided asks for its file, and checks that it is the same")
def bound():
    archives.need_h5py()
    with Folder(both_orders("fcfs_lru")) as folder:
        folder.run("--archive", "a.h5", workers=2)
        bound_by = lambda *given: words([PROGRAM, "bound", "a.h5", *given], folder)
        expect_in("no bound for 1 cell: name the file that they read by --set policy.plugin=FILE", bound_by(), "without it")
        expect_equal("no bound" in bound_by("--set", "policy.plugin=" + plugin("fcfs_lru")), False, "what it lacks with it")
        expect_in("no bound for 1 cell: profiles or files are not", bound_by("--set", "policy.plugin=" + plugin("job_fcfs")),
                  "with another")


@case("the policy that new policy writes is built by two commands outside the sources, passes its test, and decides")
def example():
    archives.need_h5py()
    with Folder() as folder:
        expect_in("cmake -S mine -B mine/build", words([PROGRAM, "new", "policy", "mine"], folder), "what it says")
        words(["cmake", "-S", "mine", "-B", "mine/build"], folder)
        words(["cmake", "--build", "mine/build"], folder)
        expect_in("none starves", words(["mine/build/policy_test"], folder), "its test")
        words([PROGRAM, "run", "mine/sweep.toml", "--archive", "a.h5"], folder)
        rows = list(archives.cells(folder.file("a.h5")).values())
        means = {(row["policy.order"], row["policy.eviction"]): row["jct_wall_mean_s"] for row in rows}
        expect_equal(len(set(means.values())), 4, f"different means, {means}")
        calls = {each for each, row in means.items() if "plugin" in each}
        expect_equal({(row["policy.order"], row["policy.eviction"]) for row in rows if row["plugin_calls"] > 0},
                     calls, "cells whose plugin was asked")


def example_decides(folder, commands):
    """The policy that was written to `mine` passes its test and decides otherwise than the program does."""
    for command in commands:
        words(command, folder)
    words([PROGRAM, "run", "mine/sweep.toml", "--archive", "a.h5"], folder)
    rows = list(archives.cells(folder.file("a.h5")).values())
    means = {(row["policy.order"], row["policy.eviction"]): row["jct_wall_mean_s"] for row in rows}
    expect_equal(len(set(means.values())), 4, f"different means, {means}")
    return means


@case("the same policy in C and in Python decides what that in C++ does")
def languages():
    archives.need_h5py()
    means = {}
    for language in ("c++", "c", "python"):
        with Folder() as folder:
            words([PROGRAM, "new", "policy", "mine", "--language", language], folder)
            means[language] = example_decides(folder, [["python3", "mine/mine_test.py"]] if language == "python" else [
                ["cmake", "-S", "mine", "-B", "mine/build"], ["cmake", "--build", "mine/build"], ["mine/build/policy_test"]])
    expect_equal(means["c"], means["c++"], "means of C")
    expect_equal(means["python"], means["c++"], "means of Python")


@case("the Python class of docs/adding-a-policy.md makes every decision there is")
def page():
    archives.need_h5py()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/adding-a-policy.md")) as text:
        source = text.read().split("```python\n")[1].split("```")[0]
    axes = {"order": "fcfs", "admission": "fcfs", "retention": "fcfs", "eviction": "fcfs"}
    text = sweep(gpus=("h100-80gb",), policies=("fcfs",), jps=(4,), repeats=1)
    text += "\n[engine]\nkv_tokens = 60_000\nhost_kv_tokens = 60_000\n"
    for axis, policy in axes.items():
        with Folder(text) as folder:
            with open(folder.file("mine.py"), "w") as file:
                file.write(source)
            # On a busy machine a call of a Python function may take longer than the default of a second.
            outcome = folder.run("--archive", "a.h5", "--set", f"policy={policy}", "--set", f"policy.{axis}=plugin", "--set", "policy.plugin=mine.py",
                                 "--set", "policy.plugin_time_limit_s=0", workers=2)
            row = list(archives.cells(folder.file("a.h5")).values())[0]
            expect_equal(row["status"], "ok", f"status with {axis}, {row['reason']} {outcome}")
            expect_equal(row["plugin_calls"] > 20, True, f"calls with {axis}, {row['plugin_calls']}")


@case("tune searches the parameters of a plugin, which --set names")
def tuned():
    text = sweep(gpus=("h100-80gb",), policies=("mine",), jps=(6,), repeats=1, jobs=40)
    text += '''
[engine]
kv_tokens = 120_000
[tune]
policy = "mine"
candidates = 4
train = 5
held_out = 5
[tune.range]
"policy.plugin_value_1" = [0.0, 1.0]
'''
    with Folder(text) as folder:
        profiles = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../sweeps")
        for name in ("gpus", "models", "policies", "published"):
            shutil.copytree(os.path.join(profiles, name), folder.file("profiles/" + name))
        with open(folder.file("profiles/policies/mine.toml"), "w") as file:
            file.write('# A plugin orders the queue.\norder = "plugin"\n')
        said = words([PROGRAM, "tune", "farm.toml", "-o", "tuned", "--profiles", "profiles",
                      "--set", "policy.plugin=" + plugin("weighted")], folder)
        expect_in("of the untuned mine's on 5 held-out seeds", said, "what it gains")
        with open(folder.file("tuned/mine-tuned.toml")) as file:
            expect_in("plugin_value_1 = 0.", file.read(), "what it found")


@case("new policy overwrites nothing and says what it takes")
def refused():
    with Folder() as folder:
        words([PROGRAM, "new", "policy", "mine"], folder)
        for arguments, message in ((("policy", "mine"), "mine exists already"), (("policy", "Mine"), "letters a to z"),
                                   (("model", "mine2"), "makes a policy"),
                                   (("policy", "mine2", "--language", "cobol"), "must be one of c++, c, python")):
            done = subprocess.run([PROGRAM, "new", *arguments], cwd=folder.path, stderr=subprocess.PIPE, text=True)
            expect_equal(done.returncode, 2, f"exit code of new {arguments}")
            expect_in(message, done.stderr, "message")


if __name__ == "__main__":
    main()
