"""How commands that read archives end when their reader closes the pipe, no driver runs, or something is damaged."""
import os
import signal
import subprocess

import archives
from cases import case, expect, expect_equal, expect_in, main
from farm import PROGRAM, Folder, sweep

BAD_ARCHIVE, INCOMPLETE = 5, 75
SMALL = sweep(gpus=("h100-80gb",), policies=("fcfs", "job_fcfs"), jps=(1,), repeats=1, jobs=30)
ENDLESS = sweep(gpus=("h100-80gb",), policies=("fcfs",), jps=(10,), repeats=1, jobs=20000)


def finished(folder):
    expect_equal(folder.run("--archive", "a.h5").code, 0, "exit code of the run")


@case("an export ends without a message when its reader closes the pipe")
def closed_pipe():
    with Folder(SMALL) as folder:
        finished(folder)
        process = subprocess.Popen([PROGRAM, "export", "a.h5", "--table", "sched"], cwd=folder.path,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect_in(b"cell,step", process.stdout.readline(), "first line")
        process.stdout.close()
        err = process.stderr.read()
        expect_equal(process.wait(), -signal.SIGPIPE, "how it ended")
        expect_equal(err, b"", "standard error")


@case("a closed pipe does not end a run: its results are stored")
def closed_pipe_of_a_run():
    with Folder(SMALL) as folder:
        process = subprocess.Popen([PROGRAM, "run", "farm.toml", "--archive", "a.h5"],
                                   cwd=folder.path, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        process.stdout.close()
        expect(process.wait() >= 0, "a signal ended it")
        statuses = {row["status"] for row in archives.cells(folder.file("a.h5")).values()}
        expect_equal(statuses, {"ok"}, "statuses")


@case("damage is found also by a command whose parent ignores how children end")
def ignored_children():
    with Folder(SMALL) as folder:
        finished(folder)
        whole = folder.bytes_of("a.h5")
        folder.write("a.h5", whole[:5000] + bytes([whole[5000] ^ 255]) + whole[5001:-4000])
        ignoring = ("python3", "-c", "import os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                    "os.execv(sys.argv[1], sys.argv[1:])")
        for words in ("check", "a.h5"), ("export", "a.h5", "--table", "cells"), ("merge", "a.h5", "a.h5", "-o", "b.h5"):
            ended = folder.start(*words, prefix=ignoring).wait()
            expect_equal(ended.code, BAD_ARCHIVE, f"exit code of {words}, {ended}")
        expect_equal(folder.start_run("--archive", "a.h5", prefix=ignoring).wait().code, BAD_ARCHIVE, "exit code of a run")


@case("a pipe or a folder in the place of an archive is refused at once")
def no_files():
    with Folder(SMALL) as folder:
        os.mkfifo(folder.file("pipe.h5"))
        os.mkdir(folder.file("folder.h5"))
        for name, reason in (("pipe.h5", "cannot read pipe.h5"), ("folder.h5", "Is a directory")):
            for words in ("check", name), ("status", name), ("salvage", name, "-o", "b.h5"):
                ended = folder.start(*words).wait(30)
                expect(ended.code in (2, BAD_ARCHIVE), f"exit code of {words}, {ended}")
                expect_in(reason, ended.err, f"message of {words}")
                expect_equal(ended.err.count("\n"), 1, f"lines of the message of {words}, {ended}")


@case("a watch ends with its run, and says so when no driver runs what is left")
def watch():
    with Folder(ENDLESS) as folder:
        run = folder.start_run("--archive", "a.h5")
        run.until(folder.marks, "the cell runs")
        watching = folder.start("status", "a.h5", "--watch")
        watching.until(lambda: "1 running" in watching.written(watching.out), "it is seen to run")
        expect(not watching.ended_within(1.5), "the watch ended before the run")
        run.kill()
        ended = watching.wait(30)
        expect_equal(ended.code, INCOMPLETE, f"exit code, {ended}")
        expect_in("no driver runs what is left of a.h5", ended.err, "message")
        later = folder.start("status", "a.h5", "--watch", "--json").wait(30)
        expect_equal(later.code, INCOMPLETE, f"exit code of a later watch, {later}")
        expect_in('"driver":false', later.out, "what it says")
    with Folder(SMALL) as folder:
        finished(folder)
        over = folder.start("status", "a.h5", "--watch").wait(30)
        expect_equal(over.code, 0, f"exit code of a watch when all is done, {over}")
        expect_equal(over.err, "", "message when all is done")


def damage_chunk(path, dataset):
    import h5py

    with h5py.File(path, "r") as file:
        chunk = file[dataset].id.get_chunk_info(0)
    with open(path, "r+b") as file:
        file.seek(chunk.byte_offset + chunk.size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 4]))


@case("a damaged chunk in an otherwise intact archive is reported, with what to do about it")
def damaged_chunk():
    archives.need_h5py()
    with Folder(SMALL) as folder:
        finished(folder)
        damage_chunk(folder.file("a.h5"), "steps/dur_s")
        for words in ["export", "a.h5", "--table", "steps"], ["trace", "a.h5", "0", "--steps"]:
            outcome = folder.start(*words).wait()
            expect_equal(outcome.code, BAD_ARCHIVE, f"exit code of {words}, {outcome}")
            expect_in("a.h5 is damaged: cannot read the column steps/dur_s", outcome.err, "message")
            expect_in("`kvsweep check ARCHIVE` lists what is damaged", outcome.err, "hint")
            expect_in("--fresh", outcome.err, "hint")
        check = folder.start("check", "a.h5").wait()
        expect_equal(check.code, BAD_ARCHIVE, f"exit code of check, {check}")
        folder.write("farm.toml", SMALL.replace("jps = [1]", "jps = [1, 2]"))
        more = folder.run("--archive", "a.h5")
        expect_equal(more.code, BAD_ARCHIVE, f"exit code of a run that goes on, {more}")
        expect_in("is damaged", more.err, "message of the run")
        fresh = folder.run("--archive", "a.h5", "--fresh")
        expect_equal(fresh.code, 0, f"exit code with --fresh, {fresh}")


@case("messages escape control characters and indent continuation lines")
def escaped_message():
    with Folder(SMALL) as folder:
        outcome = folder.start("plan", "no\x1b[2Jsuch\nfile.toml").wait()
        expect_equal(outcome.code, 2, f"exit code, {outcome}")
        expect("\x1b" not in outcome.err, f"an escape sequence: {outcome!r}")
        expect_in("no\\x1b[2Jsuch", outcome.err, "message")
        for line in outcome.err.splitlines()[1:]:
            expect(line.startswith("  "), f"a line that passes for a message: {line!r}")


@case("with one repeat, compare and table say why there is no interval")
def one_repeat():
    with Folder(SMALL) as folder:
        finished(folder)
        for command in "compare", "table":
            outcome = folder.start(command, "a.h5").wait()
            expect_equal(outcome.code, 0, f"exit code of {command}, {outcome}")
            expect_in("below three repeats: set n = 3 or more in [repeat]", outcome.out,
                      command)
        folder.write("farm.toml", SMALL.replace("n = 1", "n = 3"))
        expect_equal(folder.run("--archive", "b.h5").code, 0, "exit code of the run")
        for command in "compare", "table":
            outcome = folder.start(command, "b.h5").wait()
            expect("below three repeats" not in outcome.out,
                   f"{command} with three repeats: {outcome}")


if __name__ == "__main__":
    main()
