"""Archives do not depend on how many ranks ran the cells, nor on how often the run was killed."""
import glob
import os
import random
import shutil
import threading
import time

import archives
from cases import case, expect, expect_equal, main, scaled
from farm import MPIEXEC, Folder, sweep

SEED = 20
# Enough cells for merges while cells run: 132 of a few ms each.
MANY = sweep(name="many", repeats=11, jobs=1)


class Reader(threading.Thread):
    """Opens an archive ten times a second once it exists."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.opened, self.errors = path, 0, []
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.1):
            try:
                self.opened += bool(archives.cells(self.path))
            except OSError as error:
                if self.opened or not isinstance(error, FileNotFoundError):
                    self.errors.append(f"{type(error).__name__}: {error}")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def expect_same_results(folder, a, b):
    """By h5py, and by the program's own word."""
    a, b = folder.file(a), folder.file(b)
    expect_equal(archives.differences(a, b), [], f"datasets in which {b} differs from {a}")
    for words in (b,), ("--equal", a, b):
        checked = folder.start("check", *words).wait()
        expect_equal(checked.code, 0, f"exit code of check {words}, {checked}")


@case("the archives of 1, 2 and 5 ranks are equal")
def archives_of_any_number_of_ranks():
    with Folder() as folder:
        for ranks in 1, 2, 5:
            outcome = folder.run("--archive", f"{ranks}.h5", ranks=ranks)
            expect_equal(outcome.code, 0, f"exit code with {ranks} ranks, {outcome}")
            expect_same_results(folder, "1.h5", f"{ranks}.h5")
            expect_equal(folder.names(f"{ranks}.h5.d"), [], "what is left beside the archive")
        rows = archives.cells(folder.file("5.h5"))
        expect_equal(len(rows), 24, "cells")
        expect_equal({row["status"] for row in rows.values()}, {"ok"}, "statuses")
        expect(len({row["rank"] for row in rows.values()}) > 1, "one rank ran everything")


AGENTS = """schema = 1
[sweep]
name = "agents"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "cpu_offload"]
dram_gib = [8]
"workload.live" = [1, 12]
"workload.seed" = [1, 2, 3]
[engine]
kv_tokens = 40000
[workload]
kind = "swe_smith_like"
arrivals = "live"
jobs = 16
gap_s = 2.0
[capacity]
slo = "ttft_p90=0.4,first_token_p90=10"
"""


@case("a capacity has the same log, cells and answer by 1, 2 and 5 ranks")
def capacities_of_any_number_of_ranks():
    with Folder(AGENTS) as folder:
        answers = {}
        for ranks in 1, 2, 5:
            launch = "env" if ranks == 1 else f"{MPIEXEC} --oversubscribe --bind-to none -n {ranks}"
            outcome = folder.start("capacity", "farm.toml", "--archive", f"{ranks}.h5", "--launch", launch).wait()
            expect_equal(outcome.code, 0, f"exit code with {ranks} ranks, {outcome}")
            answers[ranks] = outcome.out.partition("Results: ")[0], folder.bytes_of(f"{ranks}.capacity.toml")
            expect_equal(answers[ranks], answers[1], f"answer and log of {ranks} ranks")
            expect_same_results(folder, "1.h5", f"{ranks}.h5")
        rows = archives.cells(folder.file("5.h5")).values()
        expect(len({row["rank"] for row in rows if row["status"] == "ok"}) > 1, "one rank ran everything")


class Chain:
    """An archive made by runs that are killed, until one completes."""

    def __init__(self, folder, name, ranks, workers=1, arguments=()):
        self.folder, self.name, self.ranks, self.workers, self.arguments = folder, name, ranks, workers, arguments
        self.path = folder.file(name)
        self.stored = {}  # label -> values that differ between runs
        self.reported = set()

    def run_for(self, seconds):
        """True when the run completed."""
        dead = self.folder.names(self.name + ".d/*.run")
        run = self.folder.start_run("--archive", self.name, *self.arguments, ranks=self.ranks, workers=self.workers)
        if self.ranks == self.workers == 1 and dead:
            # The same cell runs first again, and a second death would rightly quarantine it.
            while run.process.poll() is None and not run.outcome().finished():
                time.sleep(0.005)
        ended = run.ended_within(seconds)
        outcome = run.wait() if ended else run.kill()
        self.check(outcome)
        if ended:
            expect_equal(outcome.code, 0, f"exit code of a resumed run, {outcome}")
        return ended

    def check(self, outcome):
        for label in outcome.finished():
            expect(label not in self.reported, f"{label} was stored twice")
            self.reported.add(label)
        stored = archives.finished_cells(self.path)
        for label, run in self.stored.items():
            expect_equal(stored.get(label), run, f"the stored run of {label}")
        expect(self.reported <= set(stored), f"lost: {self.reported - set(stored)}")
        self.stored = stored
        for mark in self.folder.names(self.name + ".d/*.run"):
            expect(b"died=" not in self.folder.bytes_of(mark), "a killed run blames a cell")


def torture(folder, seed, kills, lasted, begin=None, **processes):
    """Kills runs at random instants within the duration of an uninterrupted run. Each archive begins as a copy of `begin`, if there is
    one. Returns how often the archives were opened."""
    instants = random.Random(seed)
    opened = number = 0
    while kills > 0:
        chain = Chain(folder, f"chain{number}.h5", **processes)
        if begin:
            shutil.copy(folder.file(begin), chain.path)
        with Reader(chain.path) as reader:
            ended = False
            while kills > 0 and not ended:
                ended = chain.run_for(instants.uniform(0, lasted))
                kills -= not ended
            if not ended:
                expect(chain.run_for(300), "the last run did not end")
        expect_equal(reader.errors, [], "archives that did not open")
        expect_same_results(folder, "reference.h5", chain.name)
        expect_equal(folder.names(chain.name + ".d"), [], "what is left beside the archive")
        for path in glob.glob(chain.path + "*"):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        opened += reader.opened
        number += 1
    return opened


def killed_at_random(seed, ranks, kills, workers=1, level=None):
    """Returns how often the archives were opened meanwhile."""
    archives.need_h5py()
    with Folder(MANY) as folder:
        started = time.monotonic()
        outcome = folder.run("--archive", "reference.h5", ranks=ranks, workers=workers)
        lasted = time.monotonic() - started
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        if level:
            outcome = folder.run("--archive", "lower.h5", "--record", level, ranks=ranks, workers=workers)
            expect_equal(outcome.code, 0, f"exit code at the level {level}, {outcome}")
        again = dict(begin="lower.h5", arguments=("--record", "all")) if level else {}
        opened = torture(folder, seed, kills, lasted, ranks=ranks, workers=workers, **again)
        print(f"{kills} kills within {lasted:.2f} s each, archive opened {opened} times")
        return opened


# faults/kills.py does it a thousand times.
@case("a farm killed at 12 random instants and resumed each time loses no cell and runs none twice")
def killed_farm():
    killed_at_random(SEED, ranks=3, kills=scaled(12))


@case("one process killed at random instants and resumed each time loses no cell and runs none twice")
def killed_process():
    killed_at_random(SEED, ranks=1, kills=scaled(10))


@case("a farm that replaces results by those of a higher level, killed at random instants, loses none and replaces none twice")
def killed_replacement():
    killed_at_random(SEED, ranks=3, kills=scaled(8), level="jobs")


@case("killing mpirun alone leaves an archive that resumes and blames no cell")
def killed_mpirun():
    with Folder(MANY) as folder:
        expect_equal(folder.run("--archive", "reference.h5").code, 0, "exit code")
        run = folder.start_run("--archive", "a.h5", ranks=3)
        run.until_cells_finish(10)
        os.kill(run.process.pid, 9)
        run.until_gone()
        chain = Chain(folder, "a.h5", ranks=3)
        chain.check(run.outcome())
        expect(chain.run_for(300), "the resumed run did not end")
        expect_same_results(folder, "reference.h5", "a.h5")


if __name__ == "__main__":
    main()
