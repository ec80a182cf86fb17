"""A folder with a sweep file, and jobs of `kvsweep submit` in a real Slurm with simulated nodes on this machine."""
import contextlib
import glob
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "farm"))

import archives  # noqa: E402
from cases import expect, expect_equal, skip  # noqa: E402

PROGRAM = os.environ["KVSWEEP_PROGRAM"]
SOURCE = os.path.dirname(os.path.dirname(HERE))
PATIENCE_S = 240
# The folder of a cluster that cases share, one after another. Without it each case starts and stops its own.
SHARED = os.environ.get("KVSWEEP_SLURM_SANDBOX", "")


def sweep(gpus=("a100-40gb",), policies=("fcfs", "job_fcfs"), repeats=1, jobs=5):
    """The text of a sweep file of two arrival rates; 400 jobs make a cell of about a second."""
    def listed(words):
        return ", ".join(f'"{word}"' for word in words)

    return f"""schema = 1
[sweep]
name = "small"
backend = "sim"
[axes]
gpu = [{listed(gpus)}]
policy = [{listed(policies)}]
jps = [5, 10]
[repeat]
n = {repeats}
[workload]
kind = "swe_smith_like"
jobs = {jobs}
"""


def find_tool():
    """The sandbox, or a skip with what is missing for it."""
    shared = os.environ.get("KVSWEEP_SHARED") or os.path.join(os.path.dirname(SOURCE), "shared")
    tool = os.path.join(shared, "tools", "slurm-sandbox")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [name for name in ("slurmctld", "slurmd", "munged", "sbatch", "mpirun")
               if not shutil.which(name, path=path)]
    if not os.path.exists(tool):
        skip(f"there is no {tool}")
    if os.geteuid() != 0:
        skip("slurmd runs as root alone")
    if missing:
        skip("not installed: " + ", ".join(missing))
    archives.need_h5py()
    return tool


class Job:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number

    def fields(self):
        shown = self.cluster.tool("scontrol", "-o", "show", "job", self.number).stdout
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def state(self):
        return self.fields().get("JobState", "")

    def is_over(self):
        """Waits until the last process is gone, too: until then the state is COMPLETING."""
        return self.state() in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")

    def wait(self):
        """Waits until the job has ended for good; returns its exit code."""
        self.cluster.until(self.is_over, f"end of job {self.number}")
        return int(self.fields()["ExitCode"].split(":")[0])

    def until_running(self):
        self.cluster.until(lambda: self.state() == "RUNNING", f"start of job {self.number}")

    def until_logged(self, text, count=1):
        self.cluster.until(lambda: self.log().count(text) >= count,
                           f"{count} times {text!r} in the log of job {self.number}")

    def drain(self, task=""):
        """What Slurm sends ahead of the time limit, to one task ("_0") of an array: for those that wait scancel tries again
        for a minute and a half."""
        self.cluster.tool("scancel", "--batch", "--signal=USR1", self.number + task)

    def workers(self, count=1):
        """The processes that have a cell, once they are that many; before, nothing."""
        found = set()
        for name in glob.glob(self.cluster.file("out/**/*.h5.d/*.run"), recursive=True):
            with contextlib.suppress(FileNotFoundError), open(name, encoding="utf-8") as mark:
                found.add(int(re.search(r"^pid=(\d+)$", mark.read(), re.MULTILINE).group(1)))
        return found if len(found) >= count else set()

    def worker(self):
        """The process that has a cell; None between two cells."""
        return next(iter(self.workers()), None)

    def cancel(self):
        self.cluster.tool("scancel", self.number)

    def log(self):
        with contextlib.suppress(FileNotFoundError), open(self.fields()["StdOut"],
                                                          encoding="utf-8") as file:
            return file.read()
        return ""


def command_lines():
    """Of every process of this machine, as bytes."""
    for process in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(process, "rb") as file:
            yield file.read()


class Cluster:
    """Slurm with an empty queue, and the folder of one case. Both end when it closes."""

    def __init__(self, text=None):
        self.sandbox = find_tool()
        self.path = tempfile.mkdtemp(prefix="kvs", dir="/tmp")
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("OMPI_", "PMIX_", "SLURM_"))}
        self.slurm = SHARED or self.file("slurm")
        self.write("small.toml", text or sweep())
        os.mkdir(self.file("out"))

    def __enter__(self):
        up = self.tool(self.sandbox, "up", self.slurm)
        if up.returncode != 0:
            shutil.rmtree(self.path, ignore_errors=True)
            skip("no Slurm starts here: " + up.stderr.strip())
        for line in self.tool(self.sandbox, "env", self.slurm).stdout.splitlines():
            for word in line.removeprefix("export ").split():
                name, _, value = word.partition("=")
                self.env[name] = value
        self.empty_queue()  # of a case that was ended from outside
        return self

    def __exit__(self, *_):
        self.empty_queue()
        if not SHARED:  # whose daemons run with this path, too
            self.tool(self.sandbox, "down", self.slurm)
        self.until_nobody_runs(self.path)
        shutil.rmtree(self.path, ignore_errors=True)

    def empty_queue(self):
        self.tool("scancel", "--user=" + pwd.getpwuid(os.geteuid()).pw_name)
        self.until(lambda: not self.tool("squeue", "-h").stdout, "empty queue")

    def until_nobody_runs(self, word):
        """A cancelled job is over for Slurm before its processes have ended."""
        self.until(lambda: not any(word.encode() in line for line in command_lines()),
                   f"end of what runs with {word}")

    def file(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(text)

    def write_profile(self, name, before, after):
        """The sandbox's own with one change."""
        with open(os.path.join(SOURCE, "slurm/clusters/sandbox.toml"), encoding="utf-8") as file:
            profile = file.read()
        expect(before in profile, f"the profile has no {before!r}")
        self.write(name, profile.replace(before, after))

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return file.read()

    def tool(self, *words):
        return subprocess.run(words, cwd=self.path, env=self.env, capture_output=True, text=True,
                              check=False, stdin=subprocess.DEVNULL)

    def kvsweep(self, *words):
        return self.tool(PROGRAM, *words)

    def submit(self, *words, cluster="sandbox"):
        """Jobs of the sweep, that of the merge last."""
        done = self.kvsweep("submit", "small.toml", "--archive", "out/results.h5", "--cluster",
                            cluster, "--go", *words)
        expect_equal(done.returncode, 0, f"exit code of submit, {done}")
        return [Job(self, line.split()[1].rstrip(":")) for line in done.stdout.splitlines()
                if line.startswith("job ")]

    def submit_again(self, name):
        """A script that is there, as a user would."""
        done = self.tool("sbatch", "--parsable", self.file(name))
        expect_equal(done.returncode, 0, f"exit code of sbatch, {done}")
        return Job(self, done.stdout.strip())

    def until(self, condition, what):
        """Returns what the condition does, once that is something."""
        deadline = time.monotonic() + PATIENCE_S
        while not (met := condition()):
            expect(time.monotonic() < deadline, f"no {what} within {PATIENCE_S} s: "
                   + self.tool("squeue").stdout + self.all_logs())
            time.sleep(0.1)
        return met

    def all_logs(self):
        names = sorted(name for name in os.listdir(self.file("out")) if name.endswith(".log"))
        return "".join(f"\n--- {name}\n{self.read('out/' + name)}" for name in names)

    def finished(self, name):
        """Label -> the run that computed it, for every cell of an archive with a result."""
        return archives.finished_cells(self.file("out/" + name))

    def expect_same_results(self, name, *run_options):
        """Checks that the archive of the jobs equals the one that a single process makes of the sweep."""
        run = self.kvsweep("run", "small.toml", "--archive", "reference.h5", *run_options)
        expect_equal(run.returncode, 0, f"exit code of the reference, {run}")
        equal = self.kvsweep("check", "--equal", "reference.h5", "out/" + name)
        expect_equal(equal.returncode, 0, f"check --equal, {equal}, {self.all_logs()}")
