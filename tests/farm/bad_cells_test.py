"""A cell that fails is recorded with its reason, and the others run."""
import json
import os
import signal

import archives
from cases import case, expect, expect_equal, expect_in, main
from farm import Folder, sweep

SOME_FAILED = 3
# The a100 cells take longer than the h100 cells and hence run first.
TWO_LOADS = sweep(policies=("fcfs",), jps=(10,), jobs=600, more="""[[override]]
gpu = ["h100-80gb"]
workload.kind = "trace"
workload.path = "jobs.jsonl"
workload.jobs = 1
""")
# One cell that the test does not wait for, expected to take longest and hence first, and two short ones.
ONE_ENDLESS = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=1).replace(
    "jobs = 20", "").replace("jps = [10]", 'jps = [10]\n"workload.jobs" = [1, 2, 8000]')
ENDLESS_LABEL = "gpu=a100-40gb policy=fcfs jps=10 workload.jobs=8000"


def recorded_job(answer):
    head = {"kvsweep_trace": 1, "converter": "test", "counts": {"jobs": 1, "turns": 1, "prompt_tokens": 20, "answer_tokens": answer,
                                                                "arrivals": 0, "gaps": 0, "starts": 0}}
    job = {"job": "good", "turns": [{"prompt": [[1, 20]], "answer": [[None, answer]]}]}
    return json.dumps(head) + "\n" + json.dumps(job) + "\n"


def statuses(folder):
    return {label: row["status"] for label, row in archives.cells(folder.file("a.h5")).items()}


@case("cells whose trace changes after planning fail with the reason, after a second try")
def changed_trace():
    archives.need_h5py()
    with Folder(TWO_LOADS) as folder:
        folder.write("jobs.jsonl", recorded_job(5))
        run = folder.start_run("--archive", "a.h5", ranks=2)
        run.until(folder.marks, "a cell runs")
        folder.write("jobs.jsonl", recorded_job(7))
        outcome = run.wait()
        expect_equal(outcome.code, SOME_FAILED, f"exit code, {outcome}")
        for label, row in archives.cells(folder.file("a.h5")).items():
            expect_equal(row["status"], "failed" if "h100" in label else "ok", label)
            if "h100" in label:
                expect_in("other profiles or input files", row["reason"], "reason")
                expect_equal(row["attempts"], 2, "attempts")
        # As it was when the cells were planned.
        folder.write("jobs.jsonl", recorded_job(5))
        resumed = folder.run("--archive", "a.h5", ranks=2)
        expect_equal(resumed.code, 0, f"exit code of the resumed run, {resumed}")
        expect_equal(len(resumed.finished()), 2, f"cells of the resumed run, {resumed}")


@case("a cell that runs over --cell-timeout is recorded as such and the others are done")
def timeout():
    archives.need_h5py()
    for ranks in 1, 3:
        with Folder(ONE_ENDLESS) as folder:
            outcome = folder.run("--archive", "a.h5", "--cell-timeout", "2", ranks=ranks)
            expect_equal(outcome.code, SOME_FAILED, f"exit code, {outcome}")
            found = statuses(folder)
            expect_equal(found.pop(ENDLESS_LABEL), "timeout", "status of the long cell")
            expect_equal(list(found.values()), ["ok", "ok"], "statuses of the others")
            row = archives.cells(folder.file("a.h5"))[ENDLESS_LABEL]
            expect_in("ran longer than 2", row["reason"], "reason")
            expect_equal(row["attempts"], 1, "attempts")


# Open MPI kills the driver one second after it told it to stop; a busy machine may need longer until the driver has noted why.
PATIENT_LAUNCHER = ("--mca", "odls_base_sigkill_timeout", "3")


def kill_worker(folder, number, ranks=2, mpi_options=()):
    """Sends a signal to a worker while every worker runs a cell. Returns the marks after that."""
    run = folder.start_run("--archive", "a.h5", ranks=ranks, mpi_options=mpi_options)
    os.kill(run.until_workers_are_at_cells(ranks, folder.marks), number)
    outcome = run.wait()
    expect(outcome.code not in (0, 75), f"exit code, {outcome}")
    run.until_gone()
    return b"".join(folder.marks()).decode()


@case("a cell that killed its process twice is quarantined with the reason, and the others are done")
def killer():
    archives.need_h5py()
    with Folder(ONE_ENDLESS) as folder:
        for deaths in 0, 1:
            mark = kill_worker(folder, signal.SIGSEGV)
            expect_in(f"deaths={deaths}\n", mark, "mark")
            expect_in("died=signal 11\n", mark, "mark")
        outcome = folder.run("--archive", "a.h5", ranks=2)
        expect_equal(outcome.code, SOME_FAILED, f"exit code, {outcome}")
        found = statuses(folder)
        expect_equal(found.pop(ENDLESS_LABEL), "quarantined", "status of the killer")
        expect_equal(list(found.values()), ["ok", "ok"], "statuses of the others")
        row = archives.cells(folder.file("a.h5"))[ENDLESS_LABEL]
        expect_in("killed its process 2 times", row["reason"], "reason")


@case("a death, a drain and another death quarantine the cell: a drain forgets nothing")
def death_drain_death():
    archives.need_h5py()
    with Folder(ONE_ENDLESS) as folder:
        expect_in("died=signal 11\n", kill_worker(folder, signal.SIGSEGV), "mark of the first death")
        run = folder.start_run("--archive", "a.h5", ranks=2)
        run.until_workers_are_at_cells(2, folder.marks)
        driver = run.rank(0)
        os.kill(driver, signal.SIGTERM)
        run.until(lambda: "(draining)" in run.written(run.err), "it drains")
        os.kill(driver, signal.SIGTERM)  # does not wait for the cell either
        outcome = run.wait()
        expect_equal(outcome.code, 75, f"exit code of the drained run, {outcome}")
        expect_in("deaths=1\n", b"".join(folder.marks()).decode(), "mark after the drain")
        mark = kill_worker(folder, signal.SIGSEGV)
        expect_in("deaths=1\n", mark, "mark of the second death")
        expect_in("died=signal 11\n", mark, "mark of the second death")
        expect_quarantine(folder, attempts=3)


def expect_quarantine(folder, attempts):
    """After two deaths; and that only --retry-quarantined starts the cell again."""
    outcome = folder.run("--archive", "a.h5", ranks=2)
    expect_equal(outcome.code, SOME_FAILED, f"exit code, {outcome}")
    row = archives.cells(folder.file("a.h5"))[ENDLESS_LABEL]
    expect_equal(row["status"], "quarantined", "status of the killer")
    expect_equal(row["attempts"], attempts, "attempts")
    again = folder.run("--archive", "a.h5", ranks=2)
    expect_equal(again.code, SOME_FAILED, f"exit code of the next run, {again}")
    expect_equal(again.finished(), [], "cells of the next run")
    planned = folder.start("plan", "farm.toml", "--archive", "a.h5").wait()
    expect_in("--retry-quarantined runs it again", planned.out, "plan")
    retry = folder.start_run("--archive", "a.h5", "--retry-quarantined")
    retry.until(folder.marks, "the cell runs again")
    mark = b"".join(folder.marks()).decode()
    expect_in(f"attempt={attempts + 1}\n", mark, "mark of the retry")
    expect_in("deaths=0\n", mark, "mark of the retry")


@case("a worker that is killed while no other cell runs counts against its cell, and two such quarantine it")
def killed_alone():
    archives.need_h5py()
    with Folder(ONE_ENDLESS) as folder:
        for deaths in 0, 1:
            mark = kill_worker(folder, signal.SIGKILL, mpi_options=PATIENT_LAUNCHER)
            expect_in(f"attempt={deaths + 1}\n", mark, "mark")
            expect_in(f"deaths={deaths}\n", mark, "mark")
            expect_in("died=its process was gone, and no other cell ran\n", mark, "mark")
        expect_quarantine(folder, attempts=2)


@case("one process that is gone twice in the same cell quarantines it, unless it had been told to stop")
def one_process_alone():
    archives.need_h5py()
    with Folder(ONE_ENDLESS) as folder:
        for deaths, told in (0, True), (0, False), (1, False):
            run = folder.start_run("--archive", "a.h5")
            run.until(lambda: any(f"pid={worker}\nphase=run\ndrives=1\n".encode() in b"".join(folder.marks())
                                  for worker in run.members() if worker != run.process.pid), "the cell runs")
            expect_in(f"deaths={deaths}\n", b"".join(folder.marks()).decode(), "mark")
            if told:
                os.kill(run.process.pid, signal.SIGTERM)
                run.until(lambda: b"stopped=1\n" in b"".join(folder.marks()), "the mark says so")
            run.kill()
        expect_quarantine(folder, attempts=3)


@case("a worker that somebody else kills counts against no cell, and the run can be resumed")
def killed_worker():
    archives.need_h5py()
    # Enough cells that other cells still run at the second kill.
    with Folder(sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=6, jobs=2400)) as folder:
        for _ in range(2):
            mark = kill_worker(folder, signal.SIGKILL, ranks=3)
            expect("died=" not in mark, f"a mark blames a cell: {mark}")
        stored = archives.finished_cells(folder.file("a.h5"))
        outcome = folder.run("--archive", "a.h5", ranks=3)
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        expect_equal(set(outcome.finished()) & set(stored), set(), "cells that ran twice")
        expect_equal(set(statuses(folder).values()), {"ok"}, "statuses")


if __name__ == "__main__":
    main()
