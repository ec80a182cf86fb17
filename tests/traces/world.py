"""What the cases of this folder share: files made from values, their conversion, and what the trace says."""
import gzip
import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = ROOT / "analysis" / "python"
sys.path[:0] = [str(HERE.parent / "farm"), str(PACKAGE)]
sys.path.append(str(ROOT / "build" / "python"))   # what run-tests installs
PYTHONPATH = os.pathsep.join([str(PACKAGE), sys.path[-1]])
from cases import case, expect, expect_equal, expect_in, main, skip  # noqa: E402, F401

from kvsweep import traces  # noqa: E402
from kvsweep.traces.check import Sharing, jobs_of  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()


def shared(name):
    """A path of the folder beside the checkout."""
    path = ROOT.parent / "shared" / name
    if not path.exists():
        skip(f"no ../shared/{name}")
    return path


def package(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        skip(f"Python has no {name}")


def written(content, name="rows.jsonl"):
    """A file with this content: bytes, text, or rows."""
    path = pathlib.Path(FOLDER.name) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "".join(json.dumps(row) + "\n" for row in content)
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


class Trace:
    """A converted trace: its first line, and its jobs."""

    def __init__(self, path, **options):
        out = os.path.join(FOLDER.name, "trace.jsonl.gz")
        self.first = traces.convert(path, out, **options)
        self.read(out)

    def read(self, out):
        first, *self.jobs = jobs_of(out)
        expect_equal(first, json.loads(json.dumps(self.first)), "the first line")
        sharing = Sharing()
        found = [list(sharing.turns(job)) for job in self.jobs]
        self.prompts = [[prompt for prompt, _ in job] for job in found]
        self.hits = [[hit for _, hit in job] for job in found]
        self.answers = [[sum(segment[1] for segment in turn["answer"]) for turn in job["turns"]] for job in self.jobs]
        counts = self.first["counts"]
        expect_equal((counts["jobs"], counts["turns"]), (len(self.jobs), sum(map(len, self.prompts))), "counts of jobs and turns")
        expect_equal(counts["prompt_tokens"], sum(map(sum, self.prompts)), "tokens of prompts")
        expect_equal(counts["answer_tokens"], sum(map(sum, self.answers)), "tokens of answers")
        return self

    def turn(self, number, job=0):
        return self.jobs[job]["turns"][number]

    def of(self, key, job=0):
        return [turn.get(key) for turn in self.jobs[job]["turns"]]

    def share(self):
        return sum(map(sum, self.hits)) / sum(map(sum, self.prompts))

    def labels(self, number, part, job=0):
        totals = {}
        for segment in self.turn(number, job)[part]:
            label = segment[2] if len(segment) > 2 else ""
            totals[label] = totals.get(label, 0) + segment[1]
        return totals

    def left_out(self, what):
        return sum(line["count"] for line in self.first["left_out"] if line["what"] == what)

    def assumes(self, text):
        return any(text in sentence for sentence in self.first["assumed"])


def converted(content, name="rows.jsonl", **options):
    return Trace(written(content, name), **options)


def refusal(content, name="rows.jsonl", **options):
    try:
        converted(content, name, **options)
    except traces.Refused as problem:
        return str(problem)
    raise AssertionError("was converted")
