"""Flips bits of archives and compares what `salvage` saves with the cells whose chunks are whole.

    KVSWEEP_PROGRAM=... python3 -B survivors.py [COUNT] [--log FILE]

COUNT (20) tries each with 1 and with 20 flipped bits, on an archive of 72 tiny cells and on one of 40 cells of 60 jobs,
which has several chunks a column. Every cell must survive that has no row in a chunk with a flipped bit, and what is lost
must be named. Needs h5py, which says where chunks are. With --log, what is in FILE is not done again.
"""
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from functools import partial

import h5py

from faults import PROGRAM
from journal import arguments

SWEEP = """schema = 1
[sweep]
name = "survivors"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
jps = [1, 2]
"workload.seed" = [{seeds}]
[workload]
kind = "swe_smith_like"
jobs = {jobs}
"""
KINDS = {"72 tiny cells": (18, 1), "40 cells of 60 jobs": (10, 60)}
TABLES = ("jobs", "turns", "steps", "sched", "kv_events", "telemetry", "evictions")


def kvsweep(folder, *words):
    done = subprocess.run([PROGRAM, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")


def processor_time(folder, *words):
    """(seconds, exit code, output) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    outcome = kvsweep(folder, *words)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, *outcome


class Whole:
    """An archive, and where the chunks of each cell lie."""

    def __init__(self, folder, kind):
        seeds, jobs = KINDS[kind]
        text = SWEEP.format(seeds=", ".join(map(str, range(1, seeds + 1))), jobs=jobs)
        with open(os.path.join(folder, "survivors.toml"), "w", encoding="ascii") as sweep:
            sweep.write(text)
        path = os.path.join(folder, f"{jobs}.h5")
        code, said = kvsweep(folder, "run", "survivors.toml", "--archive", path, "--no-prev")
        if code != 0:
            raise RuntimeError(said)
        with open(path, "rb") as archive:
            self.bytes = archive.read()
        self.check_seconds, *_ = processor_time(folder, "check", path)
        self.chunks = []  # (first byte, end, the cells with rows in it)
        self.cells = 0
        with h5py.File(path) as file:
            self.cells = len(file["cells/key"])
            for table in filter(file.__contains__, TABLES):
                first, rows = (file[f"cells/{table}_{part}"][:] for part in ("off", "n"))
                for column in filter(lambda name: name != "row", file[table]):
                    dataset = file[table][column].id
                    for i in range(dataset.get_num_chunks()):
                        chunk = dataset.get_chunk_info(i)
                        start, end = chunk.chunk_offset[0], chunk.chunk_offset[0] + 16384
                        cells = {cell for cell in range(self.cells)
                                 if rows[cell] > 0 and first[cell] < end and first[cell] + rows[cell] > start}
                        self.chunks.append((chunk.byte_offset, chunk.byte_offset + chunk.size, cells))

    def damage(self, flips, seed):
        """The bytes with flipped bits, and the cells whose chunks have none."""
        generator = random.Random(seed)
        damaged, hit = bytearray(self.bytes), set()
        for _ in range(flips):
            at = generator.randrange(len(damaged))
            damaged[at] ^= 1 << generator.randrange(8)
            hit |= set().union(*(cells for start, end, cells in self.chunks if start <= at < end))
        return damaged, set(range(self.cells)) - hit


def attempt(whole, flips, seed):
    """(cells whose chunks are whole, cells saved, what is wrong, processor time beside `check` of the whole archive)."""
    damaged, untouched = whole.damage(flips, seed)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="kvsweep-survivors-") as folder:
        with open(os.path.join(folder, "a.h5"), "wb") as archive:
            archive.write(damaged)
        seconds, code, said = processor_time(folder, "salvage", "a.h5", "-o", "b.h5")
        lost = {int(cell) for cell in re.findall(r"^lost: cell (\d+) ", said, re.M)}
        saved = set(range(whole.cells)) - lost if code in (0, 3) else set()
        if code not in (0, 3) or kvsweep(folder, "check", "b.h5")[0] != 0:
            wrong.append(f"exit code {code}: {said}")
        elif f" {len(saved)} results saved, {len(lost)} lost" not in said:
            wrong.append("a lost result is not named")
        if untouched - saved:
            wrong.append(f"cells {sorted(untouched - saved)} are lost, and their chunks are whole")
        if said.count("; damaged: ") != len(lost):
            wrong.append("the columns that cost a result are not named")
    return len(untouched), len(saved), wrong, seconds / whole.check_seconds


def main(words):
    journal, count, _ = arguments(words, 20)
    faults = 0
    with tempfile.TemporaryDirectory(prefix="kvsweep-survivors-") as folder:
        for kind in KINDS:
            whole = Whole(folder, kind)
            for flips in (1, 20):
                tries = [journal.once(f"{kind}, {flips}, {seed}", partial(attempt, whole, flips, seed))
                         for seed in range(count)]
                for seed, (_, _, wrong, _) in enumerate(tries):
                    faults += len(wrong)
                    for each in wrong:
                        print(f"WRONG: {kind}, {flips} bits, try {seed}: {each}", flush=True)
                ratios = sorted(ratio for *_, ratio in tries)
                print(f"{kind}, {len(whole.bytes)} bytes, {flips} flipped: saved/whole "
                      + " ".join(f"{saved}/{untouched}" for untouched, saved, *_ in tries)
                      + f"; salvage takes {ratios[len(ratios) // 2]:.1f} times as long as check", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
