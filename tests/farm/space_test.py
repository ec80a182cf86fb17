"""Full, small and missing disks are problems of the run, not of a cell."""
import os
import signal

import archives
from cases import case, expect, expect_equal, expect_in, main
from farm import Folder, Running, fill, need_root, small_disk, sweep

BAD_ARCHIVE, INCOMPLETE = 5, 75
# Eight cells of some 0.2 s.
SLOW = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=8, jobs=300)
WAITING = "waiting for space"
SMALL = sweep(gpus=("h100-80gb",), policies=("fcfs", "job_fcfs"), jps=(1,), repeats=1, jobs=30)


@case("a run needs no folder for temporary files: TMPDIR may be missing")
def missing_tmpdir():
    archives.need_h5py()
    with Folder(SMALL) as folder:
        outcome = folder.run("--archive", "a.h5", more={"TMPDIR": folder.file("nowhere")})
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        for label, row in archives.cells(folder.file("a.h5")).items():
            expect_equal(row["status"], "ok", label)


@case("a limit on the size of files ends a run with a message, and what was stored stays")
def limited_files():
    with Folder(SMALL) as folder:
        expect_equal(folder.run("--archive", "a.h5", "--only", "policy=fcfs").code, 0, "exit code")
        before = folder.bytes_of("a.h5")
        kib = os.path.getsize(folder.file("a.h5")) // 1024
        limited = folder.run("--archive", "a.h5", prefix=["prlimit", f"--fsize={kib * 1024}"])
        expect_equal(limited.code, BAD_ARCHIVE, f"exit code, {limited}")
        expect_in("File too large", limited.err, "message")
        expect(folder.bytes_of("a.h5") == before, "the archive has changed")
        expect_equal(folder.run("--archive", "a.h5").code, 0, "exit code without the limit")


@case("a run whose disk fills up waits with one message, and goes on where it was when space is back")
def waiting_for_space():
    archives.need_h5py()
    for ranks in 1, 3:
        with Folder(SLOW) as folder, small_disk(folder, "disk", "64m") as disk:
            path = os.path.join(disk, "a.h5")
            run = folder.start_run("--archive", path, ranks=ranks)
            run.until_cells_finish(1)
            filler = fill(disk)
            run.until(lambda: WAITING in run.written(run.err), "it waits")
            expect(not run.ended_within(1.5), "it did not wait")
            os.unlink(filler)
            outcome = run.wait()
            expect_equal(outcome.code, 0, f"exit code, {outcome}")
            expect_in(f"no space left in {disk}; waiting for space, --wait-space 3600", outcome.err, "message")
            expect_equal(len(set(outcome.finished())), 8, f"cells, {outcome}")
            expect_equal(len(outcome.finished()), 8, f"cells that ran twice, {outcome}")
            for label, row in archives.cells(path).items():
                expect_equal((row["status"], row["attempts"]), ("ok", 1), label)


@case("a signal, or the end of --wait-space, ends the wait with 75 and loses nothing that was stored")
def waiting_in_vain():
    archives.need_h5py()
    for patience, signalled in ("1", False), ("1000", True):
        with Folder(SLOW) as folder, small_disk(folder, "disk", "64m") as disk:
            path = os.path.join(disk, "a.h5")
            run = folder.start_run("--archive", path, "--wait-space", patience, ranks=3)
            run.until_cells_finish(1)
            filler = fill(disk)
            run.until(lambda: WAITING in run.written(run.err), "it waits")
            if signalled:
                os.kill(run.rank(0), signal.SIGUSR1)
            outcome = run.wait(60)
            expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
            expect_equal(outcome.err.count(WAITING), 1, f"messages, {outcome}")
            expect_in("when there is space, run the same command again", outcome.err, "message")
            stored = archives.finished_cells(path)
            expect_equal(set(outcome.finished()) - set(stored), set(), "lost")
            expect({row["status"] for row in archives.cells(path).values()} <= {"ok", "planned"}, "a cell is blamed")
            os.unlink(filler)
            resumed = folder.run("--archive", path, ranks=3)
            expect_equal(resumed.code, 0, f"exit code of the next run, {resumed}")
            expect_equal(set(resumed.finished()) & set(stored), set(), "cells that ran twice")


@case("a disk without room for a shard and a merge is refused before anything is computed")
def no_room():
    with Folder(SMALL) as folder, small_disk(folder, "disk", "600k") as disk:
        for ranks in 1, 3:
            outcome = folder.run("--archive", os.path.join(disk, "a.h5"), ranks=ranks)
            expect_equal(outcome.code, BAD_ARCHIVE, f"exit code, {outcome}")
            expect_in("of space in", outcome.err, "message")
            expect_in("No space left on device", outcome.err, "message")
            expect_equal(outcome.finished(), [], "cells that were computed")


@case("a reader without write permission cannot keep a driver out")
def reader_with_a_lock():
    need_root()
    with Folder(SMALL) as folder:
        os.chmod(folder.path, 0o755)
        run = folder.start_run("--archive", "a.h5")
        run.until(lambda: folder.names("a.h5.d/lock"), "the lock is there")
        run.kill()
        reader = Running(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "flock", "--shared",
                          "a.h5.d/lock", "sleep", "1000"], folder, folder.environment())
        reader.ended_within(1)  # the command is refused; otherwise it now holds the lock
        outcome = folder.run("--archive", "a.h5")
        expect_equal(outcome.code, 0, f"exit code, {outcome}, {reader.outcome()}")


if __name__ == "__main__":
    main()
