"""Flips bits of archives and runs every command that reads them.

    KVSWEEP_PROGRAM=... python3 -B mutations.py [COUNT] [--log FILE]

COUNT (30) archives, each with one bit flipped: a quarter anywhere, in the spare copy, in object headers, and in heaps.
"resume" is a run that adds to an archive of half the cells. No command may die of a signal; one
that succeeds prints what it prints of the undamaged archive; `check` must say what a command's success leaves open: where
it finds nothing, the results are those of the whole archive; and `salvage` saves every result unless the bit may be in a
chunk of rows.
With --log, what is in FILE is not done again.
"""
import collections
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from functools import partial

from faults import PROGRAM, SWEEP, must
from journal import arguments

COMMANDS = {
    "check": ["check", "a.h5"],
    "equal": ["check", "--equal", "a.h5", "whole.h5"],
    "status": ["status", "a.h5"],
    "table": ["table", "a.h5"],
    "compare": ["compare", "a.h5", "--by", "policy,jps"],
    "cells": ["export", "a.h5", "--table", "cells"],
    "steps": ["export", "a.h5", "--table", "steps"],
    "trace": ["trace", "a.h5", "0"],
    "claims": ["claims", "a.h5"],
    "fit": ["fit", "a.h5"],
    "report": ["report", "a.h5", "-o", "page"],
    "plan": ["plan", "faults.toml", "--archive", "a.h5"],
    "merge": ["merge", "a.h5", "whole.h5", "-o", "both.h5"],
    "salvage": ["salvage", "a.h5", "-o", "saved.h5"],
    "run": ["run", "faults.toml", "--archive", "a.h5"],
    "resume": ["run", "faults.toml", "--archive", "a.h5"],
}
MADE = {"run": "a.h5", "resume": "a.h5", "merge": "both.h5", "salvage": "saved.h5"}  # the archive that a command makes
LISTED_CODES = {0, 2, 3, 4, 5, 75}


def places(whole, name):
    """Offsets in the file where a bit of this kind of place is."""
    if name == "anywhere":
        return range(len(whole))
    mark = {"spare": b"kvsweep spare copy", "header": b"OHDR", "heap": b"GCOL"}[name]
    length = {"spare": 1088, "header": 160, "heap": 64}[name]
    found = []
    at = whole.find(mark)
    while at >= 0:
        found.extend(range(at, min(at + length, len(whole))))
        at = whole.find(mark, at + 1)
    return found or range(len(whole))


class Archives:
    """A whole archive, and folders with damaged ones."""

    def __init__(self):
        self.made = tempfile.mkdtemp(prefix="kvsweep-mutations-")
        with open(os.path.join(self.made, "faults.toml"), "w", encoding="ascii") as text:
            text.write(SWEEP.format(jps="[1, 3]"))
        must(self.kvsweep(self.made, "run", "faults.toml", "--archive", "whole.h5"), "the undisturbed run")
        must(self.kvsweep(self.made, "run", "faults.toml", "--archive", "part.h5", "--only", "policy=fcfs"), "part of it")
        with open(os.path.join(self.made, "whole.h5"), "rb") as file:
            self.whole = file.read()
        with open(os.path.join(self.made, "part.h5"), "rb") as file:
            self.part = file.read()
        self.undamaged = {name: self.outcome(name, self.part if name == "resume" else self.whole) for name in COMMANDS}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.made, ignore_errors=True)

    def kvsweep(self, folder, *words):
        done = subprocess.run([PROGRAM, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                              check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def outcome(self, name, archive):
        """(exit code, digest of what it prints or shows, what is wrong with the archive that it makes) of a command."""
        with tempfile.TemporaryDirectory(prefix="kvsweep-mutation-") as folder:
            for file in "whole.h5", "faults.toml":
                shutil.copy(os.path.join(self.made, file), folder)
            with open(os.path.join(folder, "a.h5"), "wb") as file:
                file.write(archive)
            code, shown, _ = self.kvsweep(folder, *COMMANDS[name])
            wrong = ""
            if name == "report" and code == 0:  # it prints where the page is
                for name_of_page in os.listdir(os.path.join(folder, "page")):  # report.json in a build without web pages
                    with open(os.path.join(folder, "page", name_of_page), encoding="utf-8") as page:
                        shown = page.read()
            if name in MADE and code == 0 and self.kvsweep(folder, "check", MADE[name])[0] != 0:
                wrong = "a damaged archive"
            elif name in MADE and code == 0 and self.kvsweep(folder, "check", "--equal", "whole.h5", MADE[name])[0] != 0:
                wrong = "other results"
            return code, hashlib.sha256(shown.encode()).hexdigest(), wrong

    def mutate(self, number):
        """(place, offset, exit codes by command, what is wrong) of the archive with this number."""
        generator = random.Random(number)
        place = ("anywhere", "spare", "header", "heap")[number % 4]
        offset = generator.choice(places(self.whole, place))
        damaged, part = bytearray(self.whole), bytearray(self.part)
        bit = 1 << generator.randrange(8)
        damaged[offset] ^= bit
        part[generator.choice(places(self.part, place))] ^= bit
        codes, wrong = {}, []
        for name in COMMANDS:
            codes[name], shown, found = self.outcome(name, part if name == "resume" else damaged)
            if codes[name] not in LISTED_CODES:
                wrong.append(f"{name}: exit code {codes[name]}")
            if codes[name] == 0 and found:
                wrong.append(f"{name}: exit 0 and {found}")
            if codes[name] == 0 and name != "salvage" and shown != self.undamaged[name][1]:
                wrong.append(f"{name}: exit 0 and another output")
        if codes["check"] == 0 and codes["equal"] != 0:
            wrong.append("check finds nothing, and the results differ")
        if codes["salvage"] != 0 and place != "anywhere":
            wrong.append("salvage: a single bit outside chunks costs a result")
        for name in "merge", "run":
            if (codes["check"] == 0) != (codes[name] == 0):
                wrong.append(f"{name}: exit code {codes[name]}, and {codes['check']} of check")
        return place, offset, codes, wrong


def main(words):
    journal, count, _ = arguments(words, 30)
    table, wrong = collections.Counter(), 0
    with Archives() as archives:
        for number in range(count):
            place, offset, codes, faults = journal.once(number, partial(archives.mutate, number))
            for name, code in codes.items():
                table[name, code] += 1
            for fault in faults:
                wrong += 1
                print(f"WRONG: archive {number}, {place}, byte {offset}: {fault}", flush=True)
    for (name, code), count in sorted(table.items()):
        print(f"{name:8} exit {code:3}: {count}")
    print(f"{sum(table.values())} commands, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
