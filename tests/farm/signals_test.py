"""Asking a run to stop: it says how to go on, and the next run does.

How Open MPI 4.1 treats signals to mpirun: USR1 and USR2 go to every rank. INT, TERM and HUP end
the job: after a SIGCONT and a second the ranks get SIGTERM, after another second SIGKILL
(odls_base_sigkill_timeout is that second), and mpirun returns 1 whatever the ranks return."""
import errno
import json
import os
import signal
import time

import archives
from cases import case, expect, expect_equal, expect_in, main
from farm import Folder, sweep

INCOMPLETE = 75
# Four cells of some 0.5 s, of which the first takes longest and hence runs first, and so on.
SLOW = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=1).replace(
    "jobs = 20", "").replace("jps = [10]", 'jps = [10]\n"workload.jobs" = [630, 620, 610, 600]')
MANY = sweep(gpus=("a100-40gb",), policies=("fcfs", "job_fcfs"), jps=(10,), jobs=20, repeats=100)
# One that the test does not wait for.
ENDLESS = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=2, jobs=6000)


def start(folder, ranks, **options):
    run = folder.start_run("--archive", "a.h5", ranks=ranks, **options)
    busy = max(1, ranks - 1)
    run.until(lambda: len(folder.marks()) >= busy, f"{busy} cells run")
    return run


def finished(folder):
    return archives.finished_cells(folder.file("a.h5"))


def expect_resumable(folder, stored):
    """The next run executes exactly the cells that are left."""
    resumed = folder.run("--archive", "a.h5", ranks=3)
    expect_equal(resumed.code, 0, f"exit code of the resumed run, {resumed}")
    left = {label: run for label, run in finished(folder).items() if label not in stored}
    expect_equal(set(resumed.finished()), set(left), "cells of the resumed run")
    expect_equal({label: finished(folder)[label] for label in stored}, stored, "stored cells")
    expect_equal(len(left) + len(stored), 4, "cells")


def drained_by(number, to_mpirun, ranks):
    archives.need_h5py()
    with Folder(SLOW) as folder:
        run = start(folder, ranks)
        os.kill(run.process.pid if to_mpirun or ranks == 1 else run.rank(0), number)
        outcome = run.wait()
        expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
        done = len(outcome.finished())
        expect(max(1, ranks - 1) <= done < 4, f"cells that ran on: {done}, {outcome}")
        left = "left: cell 3: " if done == 3 else f"left: {4 - done} cells, {done} to 3: "
        expect_in(left, outcome.out, "cells left")
        under = ", under mpirun as before" if ranks > 1 else ""
        expect_in(f"To go on{under}: kvsweep run farm.toml --archive a.h5", outcome.out, "standard output")
        expect_equal(folder.names("a.h5.d"), [], "what is left beside the archive")
        expect_resumable(folder, finished(folder))


@case("USR1 to mpirun lets running cells end, starts no other, and the run exits with 75")
def usr1_to_mpirun():
    drained_by(signal.SIGUSR1, to_mpirun=True, ranks=3)


@case("INT, TERM and USR1 to rank 0 do the same")
def signals_to_the_driver():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGUSR1:
        drained_by(number, to_mpirun=False, ranks=3)


@case("INT, TERM and USR1 to a process without mpirun do the same")
def signals_to_one_process():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGUSR1:
        drained_by(number, to_mpirun=False, ranks=1)


def stored(folder):
    """Cells with a result, as `status` counts them; 0 before there is an archive."""
    told = folder.start("status", "a.h5", "--json").wait().out
    return json.loads(told)["done"] if told else 0


@case("status never counts fewer results than before, also while a run that was stopped merges")
def status_counts_up():
    with Folder(MANY) as folder:
        run = folder.start_run("--archive", "a.h5")
        run.until(lambda: stored(folder) >= 20, "20 cells are stored")
        os.kill(run.process.pid, signal.SIGTERM)
        counts = []
        while run.process.poll() is None or not counts:
            counts.append(stored(folder))
        run.wait()
        counts.append(stored(folder))
        print(f"{len(counts)} times: {counts}")
        expect(counts[0] >= 20 and counts == sorted(counts), f"counts: {counts}")


@case("INT and TERM to mpirun end the job within seconds, and what was stored stays")
def termination_of_mpirun():
    archives.need_h5py()
    for number in signal.SIGINT, signal.SIGTERM:
        with Folder(SLOW) as folder:
            run = folder.start_run("--archive", "a.h5", ranks=3)
            run.until_cells_finish(1)
            os.kill(run.process.pid, number)
            outcome = run.wait()
            expect(outcome.code in (1, INCOMPLETE), f"exit code, {outcome}")
            stored = finished(folder)
            expect(set(outcome.finished()) <= set(stored), f"lost, {outcome}")
            for mark in folder.names("a.h5.d/*.run"):
                expect(b"died=" not in folder.bytes_of(mark), "an ended run blames a cell")
            expect_resumable(folder, stored)


def stopped_by_a_second(number, ranks):
    with Folder(ENDLESS) as folder:
        folder.write("short.toml", sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,),
                                         jobs=1))
        run = start(folder, ranks)
        driver = run.rank(0) if ranks > 1 else run.process.pid
        os.kill(driver, number)
        expect(not run.ended_within(0.5), "the first signal did not wait for the cells")
        started = time.monotonic()
        os.kill(driver, number)
        outcome = run.wait(60)
        print(f"{ranks} ranks stopped after {time.monotonic() - started:.2f} s")
        expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
        expect_equal(outcome.finished(), [], "cells that ended")
        expect_in(": attempt 1 ended: abandoned", outcome.err, "standard error")
        expect_equal(folder.names("a.h5.d"), [], "what is left beside the archive")
        # The abandoned cells are planned as before; shorter ones stand in for them here.
        resumed = folder.run("--resume", "--archive", "a.h5", ranks=ranks, sweep_file="short.toml")
        expect_equal(resumed.code, 0, f"exit code of the resumed run, {resumed}")


@case("a second signal abandons what runs, and the archive can be resumed")
def second_signal():
    for ranks, number in (1, signal.SIGINT), (3, signal.SIGTERM):
        stopped_by_a_second(number, ranks)


@case("a signal that comes while MPI starts drains, too: nothing has started, and nothing is lost")
def signal_in_the_first_instants():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGUSR1:
        with Folder(SLOW) as folder:
            os.mkfifo(folder.file("params"))
            run = folder.start_run("--archive", "a.h5", more={
                "PMI_SIZE": "1", "OMPI_MCA_mca_base_param_files": folder.file("params")})
            writers = []
            run.until(lambda: has_reader(folder.file("params"), writers), "MPI starts")
            os.kill(run.process.pid, number)
            while not run.ended_within(0.02):  # it may read the file more than once
                has_reader(folder.file("params"), writers)
                while writers:
                    os.close(writers.pop())
            outcome = run.wait()
            expect_equal(outcome.code, INCOMPLETE, f"exit code after {number}, {outcome}")
            expect_equal(outcome.finished(), [], "cells that ran")


def has_reader(fifo, writers):
    """Opens the other end as soon as a process reads the FIFO, which then waits for it."""
    try:
        writers.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        expect_equal(error.errno, errno.ENXIO, "why the FIFO cannot be opened")
    return writers


@case("--time-limit starts no cell that cannot finish, and the run exits with 75")
def time_limit():
    text = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=1, jobs=1)
    text = text.replace("jobs = 1", "").replace("jps = [10]", 'jps = [10]\n"workload.jobs" = '
                                                              "[1, 2, 50000]")
    with Folder(text) as folder:
        for ranks in 1, 3:
            started = time.monotonic()
            outcome = folder.run("--archive", f"{ranks}.h5", "--time-limit", "20", ranks=ranks)
            expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
            expect_equal(len(outcome.finished()), 2, f"cells, {outcome}")
            expect_in("it cannot finish before the time limit", outcome.out, "standard output")
            expect(time.monotonic() - started < 60, "waited for the long cell")


if __name__ == "__main__":
    main()
