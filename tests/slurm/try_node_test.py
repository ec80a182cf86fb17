"""slurm/try-node without a GPU: the steps that it tries are those of a node with cards, on simulated cells."""
import os
import shutil
import subprocess
import tempfile

from sandbox import PROGRAM, SOURCE
from cases import case, expect, expect_equal, expect_in, main, skip


def try_node(folder, workers, **environment):
    return subprocess.run((os.path.join(SOURCE, "slurm/try-node"), PROGRAM, "h200-141gb", folder, str(workers)),
                          env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@case("a node is tried with one worker and with two, and a killed worker's cells run again")
def _():
    with tempfile.TemporaryDirectory(prefix="kvs") as folder:
        tried = try_node(folder, 2, TRY_NODE_BACKEND="sim")
        expect_equal(tried.returncode, 0, "exit code; " + tried.stdout + tried.stderr)
        expect("MISSED" not in tried.stdout, tried.stdout)
        expect_in("killed worker process", tried.stdout, "output")
        expect_in("4 of 4 cells have a result", tried.stdout, "output")
        scaling = tried.stdout.split("cells per minute")[1].split("==")[0]
        expect_equal([line.split()[:2] for line in scaling.splitlines()[2:] if line], [["1", "2"], ["2", "4"]],
                     "workers and cells")
        expect_in("tiers.h5     rank", tried.stdout, "output")


@case("without a GPU nothing is tried, and what would be is said")
def _():
    if shutil.which("nvidia-smi"):
        skip("this machine may have a GPU")
    with tempfile.TemporaryDirectory(prefix="kvs") as folder:
        tried = try_node(folder, 2)
        expect_equal(tried.returncode, 2, "exit code")
        expect_in("nvidia-smi shows no GPU here", tried.stderr, "message")


main()
