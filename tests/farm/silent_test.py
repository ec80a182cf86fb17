"""Stopped processes, and dead ones whose process id is in use again: nothing waits for them, and reports about them
are correct."""
import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import time

import archives
from cases import case, expect, expect_equal, expect_in, main, skip
from farm import Folder, sweep

INCOMPLETE = 75
ENDLESS = sweep(gpus=("h100-80gb",), policies=("fcfs",), jps=(10,), repeats=1, jobs=20000)
# Some seconds of work for each of two workers.
WORK = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=6, jobs=800)


@case("the cell of a stopped worker goes elsewhere, and the run ends with its own exit code")
def stopped_worker():
    archives.need_h5py()
    with Folder(WORK) as folder:
        run = folder.start_run("--archive", "a.h5", ranks=3)
        stopped = run.until_workers_are_at_cells(3, folder.marks)
        os.kill(stopped, signal.SIGSTOP)
        outcome = run.wait(300)
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        expect_in("was silent for 60 s", outcome.err, "standard error")
        expect_in("6 of 6 cells have a result", outcome.out, "standard output")
        statuses = {row["status"] for row in archives.cells(folder.file("a.h5")).values()}
        expect_equal(statuses, {"ok"}, "statuses")
        run.until_gone()
        expect_equal(folder.names("a.h5.d"), [], "what is left beside the archive")


# Processor time in clock ticks of 10 ms, which only the thread that computes an endless cell reaches.
MANY_TICKS = 50


def stop_cell(run, pid):
    """Stops only the thread of a worker that computes its cell, so that the cell hangs."""
    def ticks(thread):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as stat:
                return int(stat.read().rpartition(")")[2].split()[11])
        return 0  # it has ended

    def busiest():  # beside the thread that sends messages
        return max((thread for thread in os.listdir(f"/proc/{pid}/task") if int(thread) != pid), key=ticks)

    run.until(lambda: ticks(busiest()) >= MANY_TICKS, "a thread computes the cell")
    thread = int(busiest())
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt = 0x4206, 0x4207  # linux/ptrace.h
    for request in seize, interrupt:
        if libc.ptrace(request, thread, None, None) != 0:
            skip("threads cannot be stopped here: " + os.strerror(ctypes.get_errno()))


@case("a cell that hangs and cannot be stopped keeps no run from its end and its own exit code")
def hanging_cell():
    with Folder(ENDLESS) as folder:
        run = folder.start_run("--archive", "a.h5", ranks=2)
        stop_cell(run, run.until_workers_are_at_cells(2, folder.marks))
        driver = run.rank(0)
        os.kill(driver, signal.SIGUSR1)
        run.until(lambda: "(draining)" in run.written(run.err), "it drains")
        os.kill(driver, signal.SIGUSR1)
        outcome = run.wait(200)
        expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
        expect_in("did not abandon the cell within 30 s", outcome.err, "standard error")
        expect_in("left: cell 0: ", outcome.out, "standard output")
        run.until_gone()
        expect_equal(folder.names("a.h5.d"), [], "what is left beside the archive")


def status(folder, *words):
    return folder.start("status", "a.h5", *words).wait()


@case("status says that a stopped driver is silent, and for how long")
def silent_driver():
    with Folder(ENDLESS) as folder:
        run = folder.start_run("--archive", "a.h5")
        run.until(folder.marks, "the cell runs")
        expect("silent" not in status(folder).out, "a driver that is alive is silent")
        os.kill(run.process.pid, signal.SIGSTOP)
        past = time.time() - 90
        os.utime(folder.file("a.h5.d/lock"), (past, past))
        said = status(folder)
        silent = re.search(rf"driver silent for (\d+) s: process {run.process.pid} on host", said.out)
        told = json.loads(status(folder, "--json").out)["driver_silent_s"]
        longest = time.time() - past + 1
        expect(silent and 90 <= int(silent[1]) <= longest, f"{said}")
        expect(90 <= told <= longest, f"as JSON: {told}")
        os.kill(run.process.pid, signal.SIGCONT)
        run.until(lambda: "silent" not in status(folder).out, "it is heard again")


@case("a dead cell does not look running when its process id lives again")
def reused_process_id():
    with Folder(ENDLESS) as folder:
        run = folder.start_run("--archive", "a.h5")
        run.until(folder.marks, "the cell runs")
        expect_in("1 running", status(folder).out, "while it runs")
        run.kill()
        mark, = folder.names("a.h5.d/*.run")
        other = subprocess.Popen(["sleep", "1000"])
        try:
            folder.write(mark, re.sub(rb"pid=\d+\n", f"pid={other.pid}\n".encode(), folder.bytes_of(mark)))
            expect_in("0 running", status(folder).out, "when another process has its number")
        finally:
            other.kill()
            other.wait()


if __name__ == "__main__":
    main()
