"""Runs of servers that are equal in all but times: of a real llama-server by two workers, killed without warning and
resumed, and of scripted ones."""
import os
import re
import shutil
import time

from cases import case, expect, expect_equal, expect_in, main, skip
from farm import PATIENCE_S, Folder
from scripted import H100, sweep_of

SANDBOX = os.environ.get("LLAMA_SERVER_SANDBOX", "/tmp/kvsweep-llama-server")
REPEATS = int(os.environ.get("KVSWEEP_SERVER_REPEATS", "1"))  # 3 takes five minutes


def sweep_of_slots(model):
    with open(os.path.join(SANDBOX, "version.txt"), encoding="utf-8") as file:
        build, commit = re.search(r"build (\d+), commit (\w+)", file.read()).groups()
    profiles = {f"np{slots}-cram{cram}": f"-np {slots} -cram {cram}"
                for cram in (0, 8192) for slots in (4, 8)}
    tables = "".join(f'[server.profile.{name}]\nflags = "{flags}"\n'
                     for name, flags in profiles.items())
    return f"""schema = 1
model = "tiny-llama-3"
[sweep]
name = "slots"
backend = "server"
[axes]
gpu = ["h100-80gb"]
"server.profile" = {list(profiles)}
jps = [2, 4, 8]
[repeat]
n = {REPEATS}
[server]
kind = "llamacpp"
version = "b{build}-{commit}"
model_file = "{model}"
command = "{SANDBOX}/llama-server -m {{model}} --host 127.0.0.1 --port {{port}} -c 32768 -t 1 --metrics --slots --no-ui --offline {{server.flags}}"
vocabulary = 259
{tables}[engine]
max_model_len = 4096
[workload]
kind = "agent8"
jobs = 4
gap_s = 0.1
scale = 0.02
"""


def servers_with(model):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if model.encode() in words and b"--port" in words:
            found.append(int(name))
    return found


@case("four profiles on two llama-servers, killed mid-way and resumed, have what an undisturbed run has")
def killed_servers():
    if not os.path.exists(os.path.join(SANDBOX, ".complete")):
        skip("no llama-server: LLAMA_SERVER_SANDBOX names a folder of tools/llama-server-sandbox")
    with Folder() as folder:
        model = folder.file("model.gguf")
        shutil.copy(os.path.join(SANDBOX, "tiny.gguf"), model)
        folder.write("slots.toml", sweep_of_slots(model))

        def start(archive):
            return folder.start_run("--archive", archive, "--as-sku", "h100-80gb", ranks=3,
                                    sweep_file="slots.toml")

        def two_servers():
            """Never more; a worker has none while it changes to the next profile's."""
            servers = servers_with(model)
            expect(len(servers) <= 2, f"servers of two workers: {servers}")
            return len(servers) == 2

        cells = 12 * REPEATS
        killed = start("killed.h5")
        killed.until_cells_finish(cells // 2)
        killed.until(two_servers, "server for each worker at one time")
        killed.kill()
        deadline = time.monotonic() + PATIENCE_S
        while left := servers_with(model):
            expect(time.monotonic() < deadline, f"servers that stay: {left}")
            time.sleep(0.1)
        for archive in "killed.h5", "whole.h5":
            outcome = start(archive).wait(10 * PATIENCE_S)
            expect_equal(outcome.code, 0, f"exit code of {archive}, {outcome}")
            expect_equal(servers_with(model), [], f"servers behind {archive}")
            expect(archive == "whole.h5" or len(outcome.finished()) <= cells - cells // 2,
                   f"cells are run again: {outcome}")
            checked = folder.start("check", archive).wait()
            expect_equal(checked.code, 0, f"exit code of check, {checked}")
        same = folder.start("check", "--equal", "--ignore-times", "killed.h5", "whole.h5").wait()
        expect_equal(same.code, 0, f"exit code of check --equal --ignore-times, {same}")
        expect_in(f"{cells} with a result", checked.out, "cells of the whole run")


@case("two runs of the same servers are equal but for times, and a run with other agents is not")
def equal_but_for_times():
    with Folder(sweep_of({"stock": "", "other": "--max-num-seqs 8"})) as folder:
        for archive, more in ("a.h5", ()), ("b.h5", ()), ("c.h5", ("--set", "workload.jobs=3")):
            outcome = folder.run("--archive", archive, *H100, *more)
            expect_equal(outcome.code, 0, f"exit code of {archive}, {outcome}")
        for other, equal in ("b.h5", True), ("c.h5", False):
            same = folder.start("check", "--equal", "--ignore-times", "a.h5", other).wait()
            expect_equal(same.code, 0 if equal else 3, f"exit code for {other}, {same}")
        exact = folder.start("check", "--equal", "a.h5", "b.h5").wait()
        expect_equal(exact.code, 3, f"exit code of check --equal, {exact}")


@case("a server's profile is selected by server.profile and by policy alike, in plans and in archives")
def selected_profiles():
    text = sweep_of({"stock": "", "other": "--max-num-seqs 8"}, jps=(50,))
    for name, policy in ("stock", "fcfs"), ("other", "continuum"):
        text = text.replace(f"[server.profile.{name}]", f'[server.profile.{name}]\nsim = "{policy}"')
    with Folder(text) as folder:
        ran = folder.run("--archive", "a.h5", *H100, "--only", "policy=stock,other")
        expect_equal(ran.code, 0, f"exit code, {ran}")
        for words in (("plan", "farm.toml"), ("plan", "farm.toml", "--backend", "sim"),
                      ("table", "a.h5"), ("export", "a.h5", "--table", "cells", "--format", "csv")):
            other = "policy=continuum" if "sim" in words else "policy=other"
            whole, *told = [folder.start(*words, *only).wait() for only in
                            ((), ("--only", "server.profile=other"), ("--only", other))]
            expect_equal([each.code for each in (whole, *told)], [0, 0, 0], f"exit codes of {words}, {told}")
            expect_equal(told[0].out, told[1].out, f"output of {words}")
            expect(told[0].out != whole.out, f"{words} selects nothing, {whole}")
        told = [folder.start("compare", "a.h5", "--by", key, "--base", f"{key}=other").wait()
                for key in ("server.profile", "policy")]
        expect_equal(told[0].code, 0, f"exit code of compare, {told}")
        expect_equal(told[0].out, told[1].out, "output of compare")


if __name__ == "__main__":
    main()
