"""Without mpirun, cells on sim run in processes of this machine: they may crash, be killed or be told to stop."""
import os
import signal

import archives
from cases import case, expect, expect_equal, expect_in, main, scaled
from farm import Folder, sweep
from kill_test import expect_same_results, killed_at_random

INCOMPLETE = 75
SOME_FAILED = 3
# One cell that the test does not wait for, expected to take longest and hence first, and short ones.
ONE_LONG = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=1).replace(
    "jobs = 20", "").replace("jps = [10]", 'jps = [10]\n"workload.jobs" = [1, 2, 3, 8000]')
LONG_LABEL = "gpu=a100-40gb policy=fcfs jps=10 workload.jobs=8000"


def children(run):
    """The processes that run cells."""
    return [pid for pid in run.members() if pid != run.process.pid]


def long_cell(folder, attempt):
    """The process that runs the given attempt at the long cell; None before it does."""
    for mark in folder.marks():
        words = dict(line.partition("=")[::2] for line in mark.decode().splitlines())
        if words.get("attempt") == str(attempt) and words.get("stopped") is None:
            return int(words["pid"])
    return None


def kill_long_cell(folder, run, attempt, number):
    """Once it is the only cell that is left."""
    run.until_cells_finish(3)
    run.until(lambda: long_cell(folder, attempt), f"attempt {attempt} at the long cell")
    os.kill(long_cell(folder, attempt), number)


@case("the archives of one, two and five processes without mpirun equal that of mpirun")
def any_number_of_processes():
    with Folder() as folder:
        expect_equal(folder.run("--archive", "mpi.h5", ranks=3).code, 0, "exit code under mpirun")
        for workers in 1, 2, 5:
            outcome = folder.run("--archive", f"{workers}.h5", workers=workers)
            expect_equal(outcome.code, 0, f"exit code with {workers} processes, {outcome}")
            expect_same_results(folder, "mpi.h5", f"{workers}.h5")
            expect_equal(folder.names(f"{workers}.h5.d"), [], "what is left beside the archive")


@case("each cell names the program that ran it, and where")
def programs():
    archives.need_h5py()
    with Folder() as folder:
        folder.run("--archive", "a.h5", workers=2)
        for label, row in archives.cells(folder.file("a.h5")).items():
            expect_equal(row["program"], archives.attribute(folder.file("a.h5"), "tool_version"), f"program of {label}")
            expect_equal(row["host"], os.uname().nodename, f"host of {label}")


@case("a cell that crashes its process is tried again by another one, and the second crash quarantines it, all in one run")
def crash():
    archives.need_h5py()
    with Folder(ONE_LONG) as folder:
        run = folder.start_run("--archive", "a.h5", workers=2)
        for attempt in 1, 2:
            kill_long_cell(folder, run, attempt, signal.SIGSEGV)
        outcome = run.wait()
        expect_equal(outcome.code, SOME_FAILED, f"exit code, {outcome}")
        rows = archives.cells(folder.file("a.h5"))
        killer = rows.pop(LONG_LABEL)
        expect_equal(killer["status"], "quarantined", "status of the killer")
        expect_in("killed its process 2 times", killer["reason"], "reason")
        expect_equal({row["status"] for row in rows.values()}, {"ok"}, "statuses of the others")
        expect_equal(folder.names("a.h5.d"), [], "what is left beside the archive")


@case("a crash counts in later runs, also after the run was stopped")
def crash_then_stop():
    archives.need_h5py()
    with Folder(ONE_LONG) as folder:
        run = folder.start_run("--archive", "a.h5", workers=2)
        kill_long_cell(folder, run, 1, signal.SIGSEGV)
        run.until(lambda: long_cell(folder, 2), "the second attempt")
        os.kill(run.process.pid, signal.SIGTERM)
        run.until(lambda: "(draining)" in run.written(run.err), "it drains")
        os.kill(run.process.pid, signal.SIGTERM)
        outcome = run.wait()
        expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
        expect_in("deaths=1\n", b"".join(folder.marks()).decode(), "mark")
        run = folder.start_run("--archive", "a.h5", workers=2)
        run.until(lambda: long_cell(folder, 3), "the third attempt")
        os.kill(long_cell(folder, 3), signal.SIGSEGV)
        expect_equal(run.wait().code, SOME_FAILED, "exit code of the second run")
        row = archives.cells(folder.file("a.h5"))[LONG_LABEL]
        expect_equal(row["status"], "quarantined", "status of the killer")


@case("processes that somebody else kills while other cells run count against no cell, and the run goes on")
def killed_by_others():
    archives.need_h5py()
    with Folder(sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=6, jobs=2400)) as folder:
        run = folder.start_run("--archive", "a.h5", workers=3)
        run.until(lambda: len(folder.marks()) == 3, "three cells run")
        os.kill(children(run)[0], signal.SIGKILL)
        outcome = run.wait()
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        expect_in(": attempt 1 ended: its worker on ", outcome.err, "standard error")
        expect_equal({row["status"] for row in archives.cells(folder.file("a.h5")).values()}, {"ok"}, "statuses")


@case("processes of a run without mpirun end with it, and it can be continued at once")
def parent_killed():
    with Folder(sweep(name="many", repeats=11, jobs=1)) as folder:
        expect_equal(folder.run("--archive", "reference.h5").code, 0, "exit code")
        run = folder.start_run("--archive", "a.h5", workers=3)
        run.until_cells_finish(10)
        os.kill(run.process.pid, signal.SIGKILL)
        run.until_gone()
        expect_equal(folder.run("--archive", "a.h5", workers=3).code, 0, "exit code of the resumed run")
        expect_same_results(folder, "reference.h5", "a.h5")


@case("a run without mpirun that is killed at random instants and resumed each time loses no cell and runs none twice")
def killed_at_any_instant():
    opened = killed_at_random(seed=20, ranks=1, workers=3, kills=scaled(12))
    expect(opened > 0, "the archive was never opened meanwhile")


@case("a terminal's Ctrl-C, which reaches all processes of the run, drains it")
def interrupt():
    archives.need_h5py()
    with Folder(sweep(gpus=("a100-40gb",), policies=("fcfs", "job_fcfs"), jps=(10,), jobs=800)) as folder:
        run = folder.start_run("--archive", "a.h5", workers=2)
        run.until(lambda: len(folder.marks()) == 2, "two cells run")
        for pid in run.members():
            os.kill(pid, signal.SIGINT)
        outcome = run.wait()
        expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
        done = archives.finished_cells(folder.file("a.h5"))
        expect_equal(set(outcome.finished()), set(done), "cells that ran on")
        expect_equal(folder.run("--archive", "a.h5", workers=2).code, 0, "exit code of the resumed run")


if __name__ == "__main__":
    main()
