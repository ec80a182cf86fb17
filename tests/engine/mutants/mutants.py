#!/usr/bin/env python3
"""Leaves out one rule of vLLM 0.33 at a time and counts the recordings that notice.

    tests/engine/mutants/mutants.py RECORDINGS [--work FOLDER] [--only RULE ...]

RECORDINGS is the folder goldens, with vllm-0.33 and scheduler in it. A copy of the source is built in FOLDER (default: a
temporary one), each mutant is a change of a few lines there, and scheduler-replay is compared with every recording. Prints
a table; the exit code is 1 if a mutant is not noticed, or if the source itself is. Takes a quarter of an hour on two cores.
"""
import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path

from rules import RULES

ROOT = Path(__file__).resolve().parents[3]
VARIANTS = {"sync": [], "async": ["--async"], "async-eos": ["--async", "--eos"],
            "async-late-abort": ["--async", "--late-abort"]}


def recordings(folder):
    """Recording, its workload and the arguments of its replay."""
    for recording in sorted((folder / "vllm-0.33" / "golden").glob("*/*.jsonl.gz")):
        name = recording.name.removesuffix(".jsonl.gz") + ".json"
        own = folder / "vllm-0.33" / "workloads" / name
        workload = own if own.exists() else folder / "scheduler" / "workloads" / name
        yield recording, workload, VARIANTS[recording.parent.name.replace("-tier", "")]


def differs(program, recording, workload, arguments):
    """Whether a line differs. A mutant may run forever, so nothing is read behind that line, nor after ten seconds."""
    command = [program, "--scheduler", "vllm-0.33", *arguments, workload]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as replay, \
            gzip.open(recording, "rt") as lines:
        timer = threading.Timer(10, replay.kill)
        timer.start()
        same = all(ours is not None and theirs is not None and json.loads(ours) == json.loads(theirs)
                   for ours, theirs in zip_longest(whole_lines(replay.stdout), lines))
        timer.cancel()
        if not same:
            replay.kill()
        return not same or replay.wait() != 0


def whole_lines(stream):
    return (line for line in stream if line.endswith("\n"))


def noticed(program, folder, kinds=""):
    """How many recordings differ, by their folder, of those whose folder has this in its name."""
    counts = {}
    with ThreadPoolExecutor(6) as pool:
        rows = [row for row in recordings(folder) if kinds in row[0].parent.name]
        for (recording, _, _), other in zip(rows, pool.map(lambda row: differs(program, *row), rows)):
            kind = recording.parent.name
            counts[kind] = counts.get(kind, 0) + other
    return counts


def build(copy):
    done = subprocess.run(["cmake", "--build", "--preset", "dev", "--parallel", "2", "--target", "scheduler-replay"],
                          cwd=copy, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout[-3000:] + done.stderr[-3000:]


def copy_source(copy):
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in files.split("\0"):
        if not file or not (ROOT / file).is_file() or file.endswith(".h5"):
            continue
        to = copy / file
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, to)
        shutil.copymode(ROOT / file, to)
    subprocess.run(["cmake", "--preset", "dev", "-DKVSWEEP_CUDA=OFF"], cwd=copy, check=True, capture_output=True)


def run(folder, copy, only):
    program = copy / "build" / "dev" / "bin" / "scheduler-replay"
    if not (copy / "CMakeLists.txt").exists():
        copy_source(copy)
    if problem := build(copy):
        sys.exit(problem)
    same = noticed(program, folder)
    if any(same.values()):
        sys.exit(f"the source itself differs from recordings: {same}")
    total = sum(1 for _ in recordings(folder))
    print(f"{total} recordings\n\n| rule | left out | recordings that differ | of these with the tier |\n|---|---|---|---|",
          flush=True)
    missed = []
    for rule, what, changes in RULES:
        if only and rule not in only and what not in only:
            continue
        originals = {}
        for file, old, new in changes:
            path = copy / file
            text = path.read_text()
            originals.setdefault(path, text)
            if text.count(old) != 1:
                sys.exit(f"{rule}: {file} has {text.count(old)} times: {old}")
            path.write_text(text.replace(old, new))
        problem = build(copy)
        # Without a tier nothing asks for the rules of one.
        counts = {} if problem else noticed(program, folder, "tier" if rule.startswith("T") else "")
        for path, text in originals.items():
            path.write_text(text)
        if problem:
            sys.exit(f"{rule}: {problem}")
        all_of = sum(counts.values())
        print(f"| {rule} | {what} | {all_of} | {sum(n for kind, n in counts.items() if 'tier' in kind)} |", flush=True)
        if all_of == 0:
            missed.append(rule)
    if missed:
        print("not noticed: " + ", ".join(missed))
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    asked = parser.parse_args()
    if asked.work:
        asked.work.mkdir(parents=True, exist_ok=True)
        return run(asked.recordings, asked.work.resolve(), asked.only)
    with tempfile.TemporaryDirectory() as work:
        return run(asked.recordings, Path(work), asked.only)


if __name__ == "__main__":
    sys.exit(main())
