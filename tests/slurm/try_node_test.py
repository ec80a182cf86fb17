"""slurm/try-node without a GPU: the steps that it tries are those of a node with cards, on simulated cells."""
import os
import re
import shutil
import subprocess
import tempfile

from sandbox import PROGRAM, SOURCE
from cases import case, expect, expect_equal, expect_in, main, skip


def run(*arguments, **environment):
    return subprocess.run((os.path.join(SOURCE, "slurm/try-node"), *arguments),
                          env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def try_node(folder, workers, **environment):
    return run(PROGRAM, "h200-141gb", folder, str(workers), **environment)


def contents(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


@case("a node is tried with one worker and with two, and a killed worker's cells run again")
def _():
    with tempfile.TemporaryDirectory(prefix="kvs") as folder:
        tried = try_node(folder, 2, TRY_NODE_BACKEND="sim")
        expect_equal(tried.returncode, 0, "exit code; " + tried.stdout + tried.stderr)
        expect("MISSED" not in tried.stdout, tried.stdout)
        expect_in("killed worker 2, process", tried.stdout, "output")
        expect_in("process rank 2 ", contents(folder, "killed.log"), "what mpirun says of the killed run")
        expect(re.search(r"exit code [1-9]\d*, cells with a result: ([1-9]|1[01])/216\n", tried.stdout), "the worker is killed while cells are left")
        expect_in("12 of 12 cells have a result", tried.stdout, "output")
        scaling = tried.stdout.split("cells per minute")[1].split("==")[0]
        expect_equal([line.split()[:2] for line in scaling.splitlines()[2:] if line], [["1", "2"], ["2", "4"]],
                     "workers and cells")
        expect_in("tiers.h5     rank", tried.stdout, "output")
        again = try_node(folder, 2, TRY_NODE_BACKEND="sim")
        expect_equal(again.returncode, 2, "exit code in a folder that has archives")
        expect_in("column.h5 of an earlier run; FOLDER must be new", again.stderr, "message")
        expect_equal([name for name in os.listdir(folder) if name.endswith(".pid")], [], "process numbers that stay")


@case("what cannot be tried is one sentence and exit code 2")
def _():
    with tempfile.TemporaryDirectory(prefix="kvs") as folder:
        for arguments, sentence in (((PROGRAM, "h200-141gb", folder), "WORKERS is missing"),
                                    ((PROGRAM, "h200-141gb", folder, "two"), "WORKERS is 'two'; allowed: a number from 1"),
                                    ((PROGRAM, "h200-141gb", folder, "0"), "WORKERS is '0'; allowed: a number from 1"),
                                    ((os.path.join(folder, "none"), "h200-141gb", folder, "1"), "is no program"),
                                    ((PROGRAM, "h200-141gb", PROGRAM, "1"), "cannot be used as the folder")):
            tried = run(*arguments, TRY_NODE_BACKEND="sim")
            expect_equal(tried.returncode, 2, "exit code; " + tried.stdout)
            expect_in(sentence, tried.stderr, "message")
        usage = run(PROGRAM).stdout
        expect(usage and all(line.startswith("#") for line in usage.splitlines()), "usage: " + usage)


@case("without a GPU nothing is tried, and what would be is said")
def _():
    if shutil.which("nvidia-smi"):
        skip("this machine may have a GPU")
    with tempfile.TemporaryDirectory(prefix="kvs") as folder:
        tried = try_node(folder, 2)
        expect_equal(tried.returncode, 2, "exit code")
        expect_in("nvidia-smi shows no GPU here", tried.stderr, "message")


main()
