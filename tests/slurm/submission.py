"""`kvsweep submit` and what it prints, without Slurm; profiles of clusters with changes."""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "farm"))

from cases import expect, expect_equal, expect_in  # noqa: E402

PROGRAM = os.environ["KVSWEEP_PROGRAM"]
SOURCE = os.path.dirname(os.path.dirname(HERE))
MATRIX = os.path.join(SOURCE, "sweeps/experiments/matrix-72.toml")
CLUSTERS = os.path.join(SOURCE, "slurm/clusters")
USAGE = 2


def submit(*words, cwd="/", sweep=MATRIX):
    return subprocess.run([PROGRAM, "submit", sweep, *words], cwd=cwd, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)


def printed(*words):
    done = submit("--archive", "/scratch/me/results.h5", "--print", *words)
    expect_equal(done.returncode, 0, f"exit code, {done}")
    return done.stdout


def expect_golden(name, text):
    """The text is that of a file in golden/, wherever program and sources are, and whatever the plan expects of cells
    and their keys are. After an intended change, KVSWEEP_WRITE_GOLDENS=1 rewrites the files."""
    text = text.replace(PROGRAM, "/opt/kvsweep/bin/kvsweep").replace(SOURCE + "/", "/opt/kvsweep/")
    text = re.sub(r"about [0-9.]+ (s|min|h)\b", "about TIME", text)
    text = re.sub(r"--time=[0-9:]+$", "--time=TIME", text, flags=re.MULTILINE)
    text = re.sub(r"^  [0-9a-f]{12}  # ", "  KEY_OF_A_CELL  # ", text, flags=re.MULTILINE)
    path = os.path.join(HERE, "golden", name)
    if os.environ.get("KVSWEEP_WRITE_GOLDENS"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        golden = file.read()
    diff = "".join(difflib.unified_diff(golden.splitlines(True), text.splitlines(True), path, "now"))
    expect(not diff, diff)


def refused(*words, code=USAGE, archive="/scratch/me/results.h5"):
    """The message of a submission that is refused."""
    done = submit("--archive", archive, "--print", *words)
    expect_equal(done.returncode, code, f"exit code, {done}")
    expect_equal(done.stdout, "", "standard output")
    return done.stderr


class Profile:
    """A copy of a cluster's profile with changes."""

    def __init__(self, name, *changes):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "mine.toml")
        with open(os.path.join(CLUSTERS, name + ".toml"), encoding="utf-8") as file:
            self.text = file.read()
        for before, after in changes:
            expect_in(before, self.text, name)
            self.text = self.text.replace(before, after, 1)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def line_of(self, text):
        return next(number for number, line in enumerate(self.text.splitlines(), 1) if text in line)

    def expect_refused(self, key, *words, line=None, options=()):
        """One message that names file, key and, where the key is there, its line."""
        message = refused("--cluster", self.path, "--sku", "a100-40gb", *options)
        expect_in(key, message, "message")
        expect_in(self.path + (f":{line}:" if line else ""), message, "message")
        for word in words:
            expect_in(word, message, "message")
