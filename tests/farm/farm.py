"""kvsweep under mpirun in a folder of its own: start it, watch it, signal it, kill it."""
import contextlib
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

from cases import expect, skip

PROGRAM = os.environ["KVSWEEP_PROGRAM"]
MPIEXEC = os.environ.get("KVSWEEP_MPIEXEC") or "mpirun"
PATIENCE_S = 120  # on a machine that also does other work


def sweep(name="farm", gpus=("h100-80gb", "a100-40gb"), policies=("fcfs", "job_fcfs", "continuum"),
          jps=(1, 3), repeats=2, jobs=20, more=""):
    """The text of a sweep file; 24 cells of some 10 ms unless told otherwise."""
    def listed(values):
        return "[" + ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in values) + "]"

    return f"""schema = 1
[sweep]
name = "{name}"
backend = "sim"
[axes]
gpu = {listed(gpus)}
policy = {listed(policies)}
jps = {listed(jps)}
[repeat]
n = {repeats}
[workload]
kind = "swe_smith_like"
jobs = {jobs}
{more}"""


def session_of(pid):
    """State and session of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[3])


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"

    def finished(self):
        """Labels of the cells that were reported as stored."""
        return [line.split(": mean jct_wall")[0] for line in self.err.splitlines()
                if ": mean jct_wall" in line]


class Running:
    """A command and its child processes, in a session of their own."""

    def __init__(self, words, folder, env):
        self.out, self.err = (open(tempfile.mkstemp(dir=folder.scratch)[1], "w+b")
                              for _ in range(2))
        self.process = subprocess.Popen(words, cwd=folder.path, env=env, stdout=self.out,
                                        stderr=self.err, stdin=subprocess.DEVNULL,
                                        start_new_session=True)
        folder.running.append(self)

    def members(self):
        """The living processes of the session."""
        alive = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                found = session_of(name)
                if found and found[1] == self.process.pid and found[0] not in "ZX":
                    alive.append(int(name))
        return alive

    def kill(self):
        """SIGKILL to every process, until none is left."""
        deadline = time.monotonic() + PATIENCE_S
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            expect(time.monotonic() < deadline, f"processes survive SIGKILL: {members}")
        self.process.wait()
        return self.outcome()

    def find_rank(self, number):
        """The process of a rank; None before it runs."""
        mark = f"OMPI_COMM_WORLD_RANK={number}".encode()
        for pid in self.members():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/environ", "rb") as environ:
                    if mark in environ.read().split(b"\0"):
                        return pid
        return None

    def until_gone(self):
        """Waits for the last process of the session."""
        deadline = time.monotonic() + PATIENCE_S
        while members := self.members():
            self.process.poll()
            expect(time.monotonic() < deadline, f"processes that stay: {members}")
            time.sleep(0.005)

    def rank(self, number):
        pid = self.find_rank(number)
        expect(pid, f"rank {number} does not run")
        return pid

    def until_workers_are_at_cells(self, ranks, marks):
        """Waits until each worker runs a cell that is marked as started; earlier runs may have left marks. Returns a worker's process."""
        pids = []

        def all_marked():
            pids[:] = [self.find_rank(rank) for rank in range(1, ranks)]
            noted = b"".join(marks())
            return all(pid and f"pid={pid}\n".encode() in noted for pid in pids)

        self.until(all_marked, "every worker has a cell")
        enough = cpu_seconds(pids[0]) + 0.1
        self.until(lambda: cpu_seconds(pids[0]) > enough, f"process {pids[0]} works at its cell")
        return pids[0]

    def written(self, stream):
        with open(stream.name, "rb") as file:
            return file.read().decode(errors="replace")

    def until(self, condition, what):
        """Waits for a condition that must come true before the command ends."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            ended = self.process.poll() is not None
            expect(not ended, f"ended before {what}: {self.outcome() if ended else ''}")
            expect(time.monotonic() < deadline, f"no {what} within {PATIENCE_S} s")
            time.sleep(0.005)

    def until_cells_finish(self, count):
        self.until(lambda: self.written(self.err).count(": mean jct_wall") >= count,
                   f"{count} cells have finished")

    def ended_within(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait(self, seconds=PATIENCE_S):
        if not self.ended_within(seconds):
            raise AssertionError(f"still running after {seconds} s: {self.kill()}")
        return self.outcome()

    def outcome(self):
        return Outcome(self.process.returncode, self.written(self.out), self.written(self.err))


class Folder:
    """A temporary folder with a sweep file, and runs of kvsweep in it. Removes the folder and ends the runs at its exit."""

    def __init__(self, text=None):
        # In memory where possible: these tests are about what is written when, not about the disk.
        free = os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free
        self.path = tempfile.mkdtemp(prefix="kvs", dir="/dev/shm" if free > 1 << 29 else None)
        self.scratch = os.path.join(self.path, "tmp")
        self.running = []
        os.mkdir(self.scratch)
        self.write("farm.toml", text or sweep())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self.running:
            each.kill()
            each.out.close()
            each.err.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        with open(self.file(name), "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    def bytes_of(self, name):
        with open(self.file(name), "rb") as file:
            return file.read()

    def names(self, pattern):
        return sorted(os.path.relpath(found, self.path) for found in glob.glob(self.file(pattern)))

    def marks(self, archive="a.h5"):
        """The marks of cells that have started and not ended."""
        found = []
        for name in self.names(archive + ".d/*.run"):
            with contextlib.suppress(FileNotFoundError):
                found.append(self.bytes_of(name))
        return found

    def environment(self, more=()):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPI_", "PMIX_", "SLURM_"))}
        env.update(TMPDIR=self.scratch, OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_btl_vader_backing_directory=self.scratch)
        env.update(more)
        return env

    def start(self, *words, ranks=1, mpi_options=(), more=(), prefix=()):
        """One rank runs without mpirun. `more` is added to the environment; `prefix` is a command that starts kvsweep."""
        launcher = [] if ranks == 1 else [MPIEXEC, "--oversubscribe", "--bind-to", "none",
                                          *mpi_options, "-n", str(ranks)]
        return Running([*prefix, *launcher, PROGRAM, *words], self, self.environment(more))

    def start_run(self, *words, sweep_file="farm.toml", ranks=1, workers=1, **options):
        """Without mpirun, `workers` processes run the cells."""
        alone = ("--workers", str(workers)) if ranks == 1 else ()
        return self.start("run", sweep_file, *words, *alone, ranks=ranks, **options)

    def run(self, *words, **options):
        return self.start_run(*words, **options).wait()


def need_root():
    if os.geteuid() != 0:
        skip("mounting needs root")


def fill(disk):
    """Fills the disk; returns the file to remove."""
    path = os.path.join(disk, "filler")
    with open(path, "wb", buffering=0) as filler:
        for size in 1 << 20, 4096:
            with contextlib.suppress(OSError):
                while filler.write(bytes(size)) == size:
                    pass
    return path


@contextlib.contextmanager
def small_disk(folder, name, size):
    """A file system of its own in the folder; yields its path."""
    need_root()
    path = folder.file(name)
    os.mkdir(path)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path],
                             capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        skip("mounting is not permitted: " + mounted.stderr.strip())
    try:
        yield path
    finally:
        for each in folder.running:
            each.kill()
        subprocess.run(["umount", path], check=True)
