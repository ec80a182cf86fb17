"""What the farm costs: `KVSWEEP_PROGRAM=build/release/bin/kvsweep python3 tests/farm/measure_farm.py`.

Prints the driver's share of a core while workers run long cells, the cost of tiny cells, the peak
memory of the driver, the time to resume when everything is done, matrix-72 on three ranks, and how
processor time grows with the numbers of cells and of jobs.
Names of measurements as arguments choose some of them. For a quiet machine."""
import os
import resource
import statistics
import sys
import time

from farm import Folder, cpu_seconds, sweep

EXPERIMENTS = os.path.join(os.path.dirname(__file__), "..", "..", "sweeps", "experiments")


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0


class Watch:
    """CPU seconds and peak memory of a process, as last seen before it ended."""

    def __init__(self, run, rank):
        run.until(lambda: run.find_rank(rank) if rank is not None else True, "a process")
        self.pid = run.find_rank(rank) if rank is not None else run.process.pid
        self.cpu_s = self.mib = 0

    def look(self):
        try:
            self.cpu_s, self.mib = cpu_seconds(self.pid), max(self.mib, peak_mib(self.pid))
        except OSError:
            pass

    def until_end(self, run):
        while not run.ended_within(0.02):
            self.look()


def tiny_sweep(cells):
    return sweep(name=f"tiny-{cells}", gpus=("h100-80gb",), policies=("fcfs",), jps=(1,),
                 repeats=cells, jobs=1)


def driver_share(workers=3):
    """Three cells of 20 s and more; the machine's cores are shared."""
    text = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=workers, jobs=20000)
    with Folder(text) as folder:
        run = folder.start_run("--archive", "a.h5", ranks=1 + workers)
        run.until(lambda: len(folder.marks()) == workers, "all workers have a cell")
        driver = run.rank(0)
        time.sleep(3)  # the workers have their workloads
        before, started = cpu_seconds(driver), time.monotonic()
        time.sleep(15)
        share = (cpu_seconds(driver) - before) / (time.monotonic() - started)
        print(f"driver: {100 * share:.2f} % of a core while {workers} workers run")
        run.kill()


def tiny_cells(ranks=8):
    for cells in 1000, 10000:
        with Folder(tiny_sweep(cells)) as folder:
            started = time.monotonic()
            run = folder.start_run("--archive", "a.h5", ranks=ranks)
            watch = Watch(run, 0)
            watch.until_end(run)
            wall = time.monotonic() - started
            outcome = run.wait(1)
            size = os.path.getsize(folder.file("a.h5")) / 2**20
            print(f"{cells} cells over {ranks} ranks: exit code {outcome.code}, {wall:.1f} s, "
                  f"{1000 * wall / cells:.2f} ms a cell; driver {watch.cpu_s:.1f} s CPU, "
                  f"{1000 * watch.cpu_s / cells:.2f} ms a cell, peak {watch.mib:.0f} MiB; "
                  f"archive {size:.0f} MiB")
            if cells == 10000:
                resume(folder)


def resume(folder):
    for words in ["plan", "farm.toml"], ["plan", "farm.toml", "--archive", "a.h5"], \
            ["run", "farm.toml", "--resume", "--archive", "a.h5"]:
        times = []
        for _ in range(3):
            started = time.monotonic()
            folder.start(*words).wait()
            times.append(time.monotonic() - started)
        print(f"10000 cells done, {' '.join(words)}: {statistics.median(times):.2f} s")


def matrix():
    with Folder() as folder:
        times = []
        for i in range(3):
            started = time.monotonic()
            outcome = folder.run("--archive", f"{i}.h5", ranks=3,
                                 sweep_file=os.path.join(EXPERIMENTS, "matrix-72.toml"))
            times.append(time.monotonic() - started)
        print(f"matrix-72 on 3 ranks: exit code {outcome.code}, {len(outcome.finished())} cells, "
              f"{' '.join(f'{each:.2f}' for each in times)} s")


def one_cell(jobs):
    return sweep(gpus=("h100-80gb",), policies=("fcfs",), jps=(10,), repeats=1, jobs=jobs)


def growth():
    """Processor time of all processes, which a busy machine changes less than wall time. A cell of
    100,000 jobs takes some 12 GiB for its prompts, and as much again with every table."""
    def cpu_of_children():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    for what, text, level, most in (("cells", tiny_sweep, "all", 10 ** 5),
                                    ("jobs", one_cell, "all", 10 ** 4),
                                    ("jobs", one_cell, "summary", 10 ** 5)):
        count = 100
        while count <= most:
            with Folder(text(count)) as folder:
                before, started = cpu_of_children(), time.monotonic()
                outcome = folder.start_run("--archive", "a.h5", "--record", level,
                                           workers=2).wait(3600)
                cpu, wall = cpu_of_children() - before, time.monotonic() - started
                size = os.path.getsize(folder.file("a.h5")) / 2**20
                print(f"{count} {what}, {level}: exit code {outcome.code}, {cpu:.2f} s of processor "
                      f"time, {1000 * cpu / count:.2f} ms each; {wall:.2f} s; "
                      f"archive {size:.1f} MiB", flush=True)
            count *= 10


MEASUREMENTS = {"driver": driver_share, "tiny": tiny_cells, "matrix": matrix, "growth": growth}

if __name__ == "__main__":
    for name in sys.argv[1:] or MEASUREMENTS:
        MEASUREMENTS[name]()
