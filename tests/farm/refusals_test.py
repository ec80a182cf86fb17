"""Input that cannot be used and output that cannot be written are refused with one message, and no existing file changes."""
import os
import re
import subprocess

import archives
from cases import case, expect, expect_equal, expect_in, main
from farm import Folder, fill, small_disk, sweep

USAGE, BAD_ARCHIVE, IN_USE, INCOMPLETE = 2, 5, 6, 75
LONG = sweep(name="long", gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=1, jobs=20000)


def messages(outcome):
    return [line for line in outcome.err.splitlines() if line.startswith("kvsweep: ")]


def expect_refused(outcome, code, *words):
    """Checks the exit code, and that there is one message which contains all the words."""
    expect_equal(outcome.code, code, f"exit code, {outcome}")
    expect_equal(len(messages(outcome)), 1, f"messages, {outcome}")
    for word in words:
        expect_in(word, messages(outcome)[0], "message")


def refused_alone_and_by_three(folder, archive, code, *words, sweep_file="farm.toml"):
    before = folder.bytes_of(archive)
    for ranks in 1, 3:
        outcome = folder.run("--archive", archive, ranks=ranks, sweep_file=sweep_file)
        expect_refused(outcome, code, archive, *words)
        expect(folder.bytes_of(archive) == before, "the file has changed")
        expect_equal(folder.names(archive + "?*"), [], "files beside it")


@case("a file that is not HDF5 is refused and left as it is")
def not_hdf5():
    with Folder() as folder:
        folder.write("notes.h5", "notes of mine\n" * 100)
        refused_alone_and_by_three(folder, "notes.h5", BAD_ARCHIVE, "not an HDF5 file")


@case("an archive of another sweep is refused with both names and left as it is")
def another_sweep():
    with Folder(sweep(jobs=1)) as folder:
        folder.write("other.toml", sweep(name="other", jobs=1))
        expect_equal(folder.run("--archive", "a.h5", sweep_file="other.toml").code, 0, "exit code")
        refused_alone_and_by_three(folder, "a.h5", BAD_ARCHIVE, '"other"', '"farm"')


@case("an archive that was cut short is refused and left as it is")
def cut_archive():
    with Folder(sweep(jobs=1)) as folder:
        expect_equal(folder.run("--archive", "a.h5").code, 0, "exit code")
        whole = folder.bytes_of("a.h5")
        for share in 0.2, 0.6, 0.99:
            folder.write("a.h5", whole[: int(len(whole) * share)])
            refused_alone_and_by_three(folder, "a.h5", BAD_ARCHIVE)


@case("a sweep file that is wrong ends the run before anything is written")
def wrong_sweep_file():
    with Folder(sweep(jps=(0,))) as folder:
        for ranks in 1, 3:
            outcome = folder.run("--archive", "a.h5", ranks=ranks)
            expect_refused(outcome, USAGE, "farm.toml:", "jps")
            expect_equal(folder.names("a.h5*"), [], "files")


@case("a full disk ends a run that may not wait with a message, keeps what was stored, and a larger disk resumes it")
def full_disk():
    archives.need_h5py()
    text = sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=8, jobs=300)
    with Folder(text) as folder, small_disk(folder, "disk", "16m") as disk:
        path = os.path.join(disk, "a.h5")
        run = folder.start_run("--archive", path, "--wait-space", "0", ranks=3)
        run.until_cells_finish(2)
        fill(disk)
        first = run.wait()
        expect_refused(first, INCOMPLETE, path, "No space left on device")
        stored = archives.finished_cells(path)
        expect(2 <= len(stored) < 8, f"cells that fit: {len(stored)}")
        expect_equal(set(first.finished()) - set(stored), set(), "cells reported but not there")
        before = folder.bytes_of(path)
        expect_refused(folder.run("--archive", path), BAD_ARCHIVE, path, "No space left on device")
        expect(folder.bytes_of(path) == before, "the archive has changed")
        expect_equal(archives.finished_cells(path), stored, "stored cells")
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        resumed = folder.run("--archive", path, ranks=3)
        expect_equal(resumed.code, 0, f"exit code, {resumed}")
        expect_equal(set(resumed.finished()) & set(stored), set(), "cells that ran twice")
        expect_equal(folder.run("--archive", "reference.h5").code, 0, "exit code")
        expect_equal(archives.differences(folder.file("reference.h5"), path), [], "differences")


@case("a folder that cannot be written is named, and the archive in it stays as it is")
def read_only_folder():
    with Folder(sweep(jobs=1)) as folder, small_disk(folder, "disk", "16m") as disk:
        path = os.path.join(disk, "a.h5")
        expect_equal(folder.run("--archive", path, "--only", "jps=1").code, 0, "exit code")
        before = folder.bytes_of(path)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for ranks in 1, 3:
            for archive in path, os.path.join(disk, "new.h5"):
                outcome = folder.run("--archive", archive, ranks=ranks)
                expect_refused(outcome, USAGE, archive, "Read-only file system")
        expect_equal(os.listdir(disk), ["a.h5"], "files")
        expect(folder.bytes_of(path) == before, "the archive has changed")


def stop_after(folder, cells, **options):
    """An archive with shards beside it."""
    run = folder.start_run("--archive", "a.h5", **options)
    run.until_cells_finish(cells)
    run.kill()
    return folder.names("a.h5.d/" + "?" * 64 + ".h5")


@case("a shard that is cut short is set aside with a message, and its cell runs again")
def cut_shard():
    archives.need_h5py()
    with Folder(sweep(jobs=100)) as folder:
        expect_equal(folder.run("--archive", "reference.h5").code, 0, "exit code")
        shards = stop_after(folder, 4, ranks=3)
        stored = archives.finished_cells(folder.file("a.h5"))
        of_the_shard = set(archives.shard_rows(folder.file(shards[0])))
        cut = folder.bytes_of(shards[0])[:-1000]
        folder.write(shards[0], cut)
        outcome = folder.run("--archive", "a.h5", ranks=3)
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        expect_equal(len(messages(outcome)), 1, f"messages, {outcome}")
        expect_in(shards[0], messages(outcome)[0], "message")
        expect_equal(set(outcome.finished()) & set(stored), of_the_shard, "stored cells run again")
        expect_equal(folder.names("a.h5.d/*"), [shards[0] + ".damaged"], "files set aside")
        expect_equal(archives.differences(folder.file("reference.h5"), folder.file("a.h5")), [],
                     "differences")


@case("a result that is damaged before the last merge makes the run end incomplete, and the next run has it")
def damaged_before_the_merge():
    with Folder(sweep(gpus=("a100-40gb",), policies=("fcfs",), jps=(10,), repeats=3, jobs=1000)) as folder:
        run = folder.start_run("--archive", "a.h5")
        run.until_cells_finish(1)
        shard = folder.names("a.h5.d/" + "?" * 64 + ".h5")[0]
        folder.write(shard, folder.bytes_of(shard)[:-1000])
        outcome = run.wait()
        expect_equal(outcome.code, INCOMPLETE, f"exit code, {outcome}")
        expect_in("its result was damaged and is set aside", outcome.out, "standard output")
        expect_in("2 of 3 cells have a result", outcome.out, "standard output")
        resumed = folder.run("--archive", "a.h5")
        expect_equal(resumed.code, 0, f"exit code of the next run, {resumed}")
        expect_equal(len(resumed.finished()), 1, f"cells of the next run, {resumed}")


@case("a second run on an archive is refused at once with who has it, and the first goes on")
def second_driver():
    with Folder(LONG) as folder:
        folder.write("short.toml", sweep(name="long", jobs=1))
        first = folder.start_run("--archive", "a.h5", ranks=2)
        first.until(folder.marks, "a cell that runs")
        holder = folder.bytes_of("a.h5.d/lock").decode().splitlines()
        before = folder.bytes_of("a.h5"), folder.names("a.h5.d/*")
        for ranks in 1, 3:
            second = folder.run("--archive", "a.h5", ranks=ranks, sweep_file="short.toml")
            expect_refused(second, IN_USE, "a.h5", f"process {first.rank(0)} ", holder[0])
            expect_equal((folder.bytes_of("a.h5"), folder.names("a.h5.d/*")), before, "files")
            expect_equal(folder.bytes_of("a.h5.d/lock").decode().splitlines(), holder, "holder")
        expect_equal(first.process.poll(), None, "exit code of the first")


@case("--wait goes on when the archive is free, and gives up after its time")
def waiting_driver():
    with Folder(LONG) as folder:
        folder.write("short.toml", sweep(name="long", repeats=1, jobs=1))
        first = folder.start_run("--archive", "a.h5", ranks=2)
        first.until(folder.marks, "a cell that runs")
        impatient = folder.run("--archive", "a.h5", "--wait", "0.5", sweep_file="short.toml")
        expect_equal(impatient.code, IN_USE, f"exit code, {impatient}")
        waits, gives_up = messages(impatient)
        expect_in(f"a.h5 is in use by process {first.rank(0)} ", waits, "why it waits")
        expect_in("; waiting for it, --wait 0.5", waits, "how long it waits")
        expect_in("a.h5 is in use", gives_up, "message")
        patient = folder.start_run("--archive", "a.h5", "--wait", "100", sweep_file="short.toml")
        expect(not patient.ended_within(1), "did not wait")
        first.kill()
        outcome = patient.wait()
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        expect(re.search(r"long: 12 cells", outcome.out), f"the sweep, {outcome}")


if __name__ == "__main__":
    main()
