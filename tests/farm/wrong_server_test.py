"""A server that is not the one of the sweep file ends the run of its cells before the first. The servers are scripted."""
import archives
from cases import case, expect, expect_equal, expect_in, main
from farm import Folder
from scripted import H100, sweep_of

NO_SUCH_WORKER = 4


def starts(folder):
    return sum(folder.bytes_of(name).count(b"scripted server") for name in
               folder.names("a.h5.logs/*.log"))


def statuses(folder):
    return {label: row["status"] for label, row in archives.cells(folder.file("a.h5")).items()}


@case("a server of another version or model ends the run before the first cell, with one reason")
def wrong_server():
    cases = {"--version 0.31.0": 'server.version is "0.30.0", but the server reports "0.31.0"',
             "--model other": "the server is for another model: it serves other, not m"}
    for flags, reason in cases.items():
        for ranks in 1, 3:
            with Folder(sweep_of({"stock": flags}, jps=(50, 60, 70, 80))) as folder:
                outcome = folder.run("--archive", "a.h5", *H100, ranks=ranks)
                expect_equal(outcome.code, NO_SUCH_WORKER, f"exit code, {outcome}")
                expect_in(f"left: 4 cells, 0 to 3: {reason}", outcome.out, "standard output")
                expect_equal(outcome.out.count(reason), 1, f"reasons, {outcome}")
                # A worker that comes late finds no cell that wants it.
                expect(1 <= starts(folder) <= max(1, ranks - 1), f"starts: {starts(folder)}, {outcome}")
                told = folder.start("status", "a.h5").wait()
                expect_in(f"left by the last run: 4 cells, 0 to 3: {reason}", told.out, "status")
                if archives.h5py:
                    expect_equal(set(statuses(folder).values()), {"planned"}, "statuses")


@case("of two profiles the cells of the right server run, and the others go on once theirs is right")
def one_wrong_profile():
    for ranks in 1, 3:
        with Folder() as folder:
            note = folder.file("version")
            folder.write("farm.toml", sweep_of({"stock": "", "new": f"--version-file {note}"}))
            folder.write("version", "0.31.0")
            outcome = folder.run("--archive", "a.h5", *H100, ranks=ranks)
            expect_equal(outcome.code, NO_SUCH_WORKER, f"exit code, {outcome}")
            expect_equal(len(outcome.finished()), 2, f"cells that ran, {outcome}")
            expect_in('but the server reports "0.31.0"', outcome.out, "standard output")
            folder.write("version", "0.30.0")
            rest = folder.run("--archive", "a.h5", *H100, ranks=ranks)
            expect_equal(rest.code, 0, f"exit code, {rest}")
            expect_equal(len(rest.finished()), 2, f"cells that go on, {rest}")
            told = folder.start("status", "a.h5").wait()
            expect("left by" not in told.out, f"a reason of an earlier run, {told}")
            if archives.h5py:
                expect_equal(set(statuses(folder).values()), {"ok"}, "statuses")


if __name__ == "__main__":
    main()
