"""The scripts of `kvsweep submit`, run by bash with substitutes for Slurm and mpirun. Needs no Slurm."""
import os
import shutil
import subprocess
import tempfile
import time

from sandbox import PROGRAM, archives, sweep
from cases import case, expect, expect_equal, expect_in, main

IN_USE, INCOMPLETE = 6, 75
CLUSTERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../slurm/clusters")
OWN, MERGED = "results.a100-40gb.h5", "results.h5"
# Leaves out `--bind-to none --map-by node -n N` and has the program in its own place, as a child of the script.
MPIRUN = 'shift 6\nexec "$@"\n'


class Folder:
    """A sweep of two GPUs with two cells each, its scripts, and programs that come first in their PATH."""

    def __init__(self):
        archives.need_h5py()
        self.path = tempfile.mkdtemp(prefix="kvs", dir="/tmp")
        os.mkdir(self.file("bin"))
        self.write("small.toml", sweep(gpus=("a100-40gb", "h100-80gb"), policies=("fcfs",)))
        self.program("mpirun", MPIRUN)
        self.program("sleep", f"exec {shutil.which('sleep')} 0.02\n")
        self.program("scontrol", f'echo "$@" >>{self.file("scontrol.log")}\n')
        self.env = {"PATH": self.file("bin") + ":" + os.environ["PATH"], "HOME": self.path, "SLURM_JOB_ID": "7",
                    "SLURM_JOB_NODELIST": "node1", "SLURM_JOB_END_TIME": str(int(time.time()) + 3600)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def file(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        if not os.path.exists(self.file(name)):
            return ""
        with open(self.file(name), encoding="utf-8") as file:
            return file.read()

    def program(self, name, text):
        self.write("bin/" + name, "#!/bin/sh\n" + text)
        os.chmod(self.file("bin/" + name), 0o755)

    def kvsweep(self, *words):
        return subprocess.run((PROGRAM, *words), cwd=self.path, capture_output=True, text=True, check=False)

    def remove_archive(self, archive):
        for name in archive, archive + ".prev":
            if os.path.exists(self.file(name)):
                os.remove(self.file(name))

    def run(self, archive, only):
        """Cells in an archive, whichever way they came there."""
        os.makedirs(os.path.dirname(self.file(archive)), exist_ok=True)
        done = self.kvsweep("run", "small.toml", "--archive", archive, "--only", only)
        expect_equal(done.returncode, 0, f"exit code, {done}")

    def submit(self, *words):
        return self.kvsweep("submit", "small.toml", "--archive", MERGED, "--sku", "a100-40gb", *words)

    def scripts(self, *words):
        done = self.submit(*words)
        expect_equal(done.returncode, 0, f"exit code, {done}")
        return done.stdout

    def script(self, name, kvsweep=None):
        """Runs a script; `kvsweep` is the text of a program in place of the real one."""
        text = self.read(f"results.{name}.sbatch")
        if kvsweep is not None:
            self.program("kvsweep", kvsweep)
            line = next(line for line in text.splitlines() if line.startswith("kvsweep="))
            text = text.replace(line, "kvsweep=" + self.file("bin/kvsweep"))
        return subprocess.run(("bash", "-c", text), cwd=self.path, env=self.env, capture_output=True, text=True,
                              check=False, stdin=subprocess.DEVNULL)

    def merge(self):
        done = self.script("merge")
        expect_equal(done.returncode, 0, f"exit code, {done}")
        return archives.finished_cells(self.file(MERGED))


@case("what the merged archive has stays in it: cells of a plain run, and those of a job whose archive is gone")
def merge_keeps():
    with Folder() as folder:
        folder.run(MERGED, "gpu=h100-80gb")
        plain = archives.finished_cells(folder.file(MERGED))
        expect_equal(len(plain), 2, "cells of the plain run")
        folder.run(OWN, "gpu=a100-40gb,jps=5")
        folder.scripts()
        first = folder.merge()
        expect_equal(len(first), 3, "cells of the first merge")
        expect_equal({label: first[label] for label in plain}, plain, "cells of the plain run")
        os.remove(folder.file(OWN))
        expect_equal(folder.merge(), first, "cells of a merge without parts")


# Notes what it is told to bind, and has the command behind the image.
APPTAINER = """while [ "$1" != image.sif ]; do [ "$1" != --bind ] || echo "$2" >>"$BINDS"; shift; done
shift
exec "$@"
"""


@case("in a container a job and its merge do what they do without, with the folders that they need")
def in_container():
    with Folder() as folder:
        with open(os.path.join(CLUSTERS, "generic.toml"), encoding="utf-8") as file:
            text = file.read()
        folder.write("mine.toml", text.replace('\ncontainer = ""', '\ncontainer = "image.sif"'))
        folder.program("apptainer", APPTAINER)
        folder.program("kvsweep", f'exec {PROGRAM} "$@"\n')
        folder.env["BINDS"] = folder.file("binds")
        folder.scripts("--cluster", "mine.toml")
        job = folder.script("a100-40gb")
        expect_equal(job.returncode, 0, f"exit code, {job}")
        expect_equal(len(folder.merge()), 2, "merged cells")
        expect(set(folder.read("binds").split()) >= {folder.path, "/tmp"}, folder.read("binds"))


@case("a merge that is refused leaves the merged archive and the table as they were")
def merge_refused():
    with Folder() as folder:
        folder.run(OWN, "gpu=a100-40gb")
        folder.scripts()
        before, table = folder.merge(), folder.read("results.table.txt")
        folder.write("small.toml", sweep(gpus=("a100-40gb", "h100-80gb"), policies=("fcfs",), jobs=6))
        os.remove(folder.file(OWN))
        folder.run(OWN, "gpu=a100-40gb")
        done = folder.script("merge")
        expect(done.returncode != 0, f"exit code, {done}")
        expect_in("different texts of the sweep", done.stderr, "message")
        expect_in("results.h5 is as it was", done.stdout, "message")
        expect_equal(archives.finished_cells(folder.file(MERGED)), before, "merged archive")
        expect_equal(folder.read("results.table.txt"), table, "table")


@case("a table that cannot be made ends the merge with its exit code")
def no_table():
    with Folder() as folder:
        folder.scripts()
        done = folder.script("merge", 'case $1 in merge) for last; do :; done; touch "$last" ;; table) exit 9 ;; esac\n')
        expect_equal(done.returncode, 9, f"exit code, {done}")


@case("a job runs what neither its archive nor the merged one has, and is refused where it could not go on from both")
def goes_on_from_merged():
    with Folder() as folder:
        folder.run(MERGED, "gpu=a100-40gb,jps=5")
        merged = archives.finished_cells(folder.file(MERGED))
        expect_in(": 1 cell of a100-40gb", folder.scripts(), "standard output")
        done = folder.script("a100-40gb")
        expect_equal(done.returncode, 0, f"exit code, {done}")
        own = archives.finished_cells(folder.file(OWN))
        expect_equal(len(own), 2, "cells")
        expect_equal({label: own[label] for label in merged}, merged, "cells that were merged")
        expect_equal(len(folder.merge()), 2, "cells of the merge")
        expect_in("nothing is left to run", folder.submit().stderr, "message")
        folder.remove_archive(OWN)
        folder.run(OWN, "gpu=a100-40gb,jps=10")
        folder.remove_archive(MERGED)
        folder.run(MERGED, "gpu=a100-40gb,jps=5")
        refused = folder.submit()
        expect_equal(refused.returncode, 2, f"exit code, {refused}")
        for words in f"{MERGED} has 1 of the cells", f"{OWN} lacks", "results.merge.sbatch":
            expect_in(words, refused.stderr, "message")


def stuck(folder, *done):
    """A run that is incomplete, of an archive with so many cells done after each run; none before the first."""
    folder.write("done", "".join(f"{number}\n" for number in done))
    runs, counts = folder.file("runs"), folder.file("done")
    return (f"[ $1 = run ] && echo >>{runs} && exit {INCOMPLETE}\n"
            f"[ -e {runs} ] || exit 2\n"
            f"echo \"odd: 1/2 name: $(sed -n \"$(wc -l <{runs})p\" {counts})/4 done, 0 running\"\n")


@case("three runs in a row that finish no cell end the requeueing, from the first run on, and one that does starts the count anew")
def three_runs():
    for done, requeued in ((0, 0, 0), 2), ((0, 1, 1, 1, 1), 4), ((1, 1, 2, 2, 2, 2), 5):
        with Folder() as folder:
            folder.scripts()
            program = stuck(folder, *done)
            ends = [folder.script("a100-40gb", program) for _ in done]
            expect_equal({end.returncode for end in ends}, {INCOMPLETE}, "exit codes")
            expect_equal(["three runs" in end.stdout for end in ends], [False] * requeued + [True], f"{done}: messages")
            expect_equal(folder.read("scontrol.log"), "requeue 7\n" * requeued, f"{done}: requeues")


@case("a second job that finds the archive in use leaves the count of the first as it is")
def in_use():
    with Folder() as folder:
        folder.scripts()
        folder.write(OWN + ".stalled", "6\n6\n")
        for code, left in (IN_USE, "6\n6\n"), (0, ""):
            done = folder.script("a100-40gb", f"[ $1 = run ] && exit {code}\n")
            expect_equal(done.returncode, code, f"exit code, {done}")
            expect_equal(folder.read(OWN + ".stalled"), left, f"count after exit code {code}")


@case("a signal in the moment in which the ranks end does not hide their exit code")
def late_signal():
    with Folder() as folder:
        folder.scripts()
        for _ in range(20):
            done = folder.script("a100-40gb", "[ $1 = run ] || exit 2\ntrap '' USR1\nkill -USR1 $PPID\nexit 3\n")
            expect_equal(done.returncode, 3, f"exit code, {done}")


@case("the limit is what Slurm set, or what squeue says in its standard form, asked again where it fails and not for ever")
def limit():
    with Folder() as folder:
        folder.scripts()
        says = f'[ $1 = run ] || exit 2\nwhile [ "$1" != --time-limit ]; do shift; done\necho limit $2 >{folder.file("limit")}\n'
        squeue = (f'echo >>{folder.file("asked")}\n[ $SLURM_TIME_FORMAT = standard ] || exit 1\n'
                  f'[ $(wc -l <{folder.file("asked")}) -ge $AFTER ] && date -d "90 minutes" +%FT%T\n')
        folder.program("squeue", squeue)

        def seconds(after, code=0):
            folder.env |= {"SLURM_TIME_FORMAT": "relative", "AFTER": str(after)}
            folder.write("asked", "")
            done = folder.script("a100-40gb", says)
            expect_equal(done.returncode, code, f"exit code, {done}")
            return int(folder.read("limit").split()[1]) if code == 0 else done.stdout

        expect(3400 <= seconds(1) <= 3510, "the limit that Slurm set")
        expect_equal(folder.read("asked"), "", "questions to squeue")
        del folder.env["SLURM_JOB_END_TIME"]
        for after in 1, 3:
            expect(5200 <= seconds(after) <= 5310, "the limit that squeue says")
            expect_equal(len(folder.read("asked")), after, "questions to squeue")
        expect_in("squeue does not say when this job ends", seconds(99, code=1), "message")
        expect_equal(len(folder.read("asked")), 4, "questions to squeue")


if __name__ == "__main__":
    main()
