"""Runs kvsweep with one failing system call, or kills it at one, and reports whether results were lost.

    KVSWEEP_PROGRAM=... KVSWEEP_INJECTOR=... python3 -B faults.py [COUNT] [NAME...] [--log FILE]

COUNT (20) failing calls for each call of each scenario, spread evenly over those that a run makes, once and from then
on, and as many kills at such calls; a table of outcomes in the end. With --log, what is in FILE is not done again.
NAME: scenarios, and calls such as "write" and "kill sync"; by default all of them.
"""
import collections
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from functools import partial

from journal import arguments

PROGRAM = os.environ["KVSWEEP_PROGRAM"]
INJECTOR = os.environ["KVSWEEP_INJECTOR"]
ENOSPC, EIO = 28, 5
CALLS = {"write": ENOSPC, "short": ENOSPC, "sync": EIO, "rename": EIO, "link": EIO, "unlink": EIO, "mkdir": ENOSPC,
         "truncate": EIO, "close": EIO, "open": EIO, "copy": ENOSPC, "read": EIO}
# At these calls the process may be killed instead.
KILLS = ("kill write", "kill sync", "kill rename", "kill unlink")
KILLED = -9
LISTED_CODES = {0, 1, 2, 3, 5, 6, 75}

SWEEP = """schema = 1
[sweep]
name = "faults"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
jps = {jps}
[workload]
kind = "swe_smith_like"
jobs = 3
"""


class Folder:
    """A sweep, and the archive that an undisturbed run of a part of it left."""

    def __init__(self, made):
        self.path = tempfile.mkdtemp(prefix="kvsweep-faults-")
        shutil.copytree(made, self.path, dirs_exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def kvsweep(self, *words, fault=None):
        """Exit code, standard output and error of a command; a negative code is a signal."""
        env = dict(os.environ, TMPDIR=self.path)
        if fault:
            env |= {"LD_PRELOAD": INJECTOR, "KVSWEEP_FAULT": fault, "KVSWEEP_FAULT_COUNT": self.file("count")}
        done = subprocess.run([PROGRAM, *words], cwd=self.path, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=300, check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def calls(self):
        try:
            with open(self.file("count"), "rb") as count:
                return struct.unpack("l", count.read(8))[0]
        except FileNotFoundError:
            return 0


def must(outcome, what):
    if outcome[0] != 0:
        raise RuntimeError(f"{what}: {outcome}")


def reported(err):
    """Labels of the cells that a run reported as stored."""
    return {line.split(": mean jct_wall")[0] for line in err.splitlines() if ": mean jct_wall" in line}


def results(folder, archive):
    """Label -> digest of every result in an archive and beside it; None when it cannot be read."""
    code, out, _ = folder.kvsweep("export", archive, "--table", "cells", "--format", "jsonl")
    if code != 0:
        return None
    rows = [json.loads(line) for line in out.splitlines()]
    return {row["label"]: row["digest"] for row in rows if row["status"] == "ok"}


class Scenario:
    """A command, the files in which calls fail, and what must hold whichever call fails."""

    def __init__(self, name, words, archive=None, output=None, strikes=""):
        self.name, self.words, self.archive, self.output, self.strikes = name, words, archive, output, strikes

    def judge(self, folder, before, whole, code, err):
        """A sentence that says what is wrong; None if nothing is."""
        if code not in LISTED_CODES | {KILLED}:
            return f"exit code {code}"
        if code > 0 and "kvsweep:" not in err:
            return f"exit code {code} without a message"
        for name in ("part.h5", "other.h5"):
            if os.path.exists(folder.file(name)) and name != self.archive \
                    and folder.kvsweep("check", name)[0] != 0:
                return f"{name}, which is only read, is damaged"
        if self.archive:
            return self.judge_run(folder, before, whole, code, err)
        made = self.output and self.output.endswith(".h5") and os.path.exists(folder.file(self.output))
        if made and folder.kvsweep("check", self.output)[0] != 0:
            return f"exit {code} and a damaged archive"
        if code == 0 and not made and self.output.endswith(".h5"):
            return "exit 0 and no archive"
        return None

    def judge_run(self, folder, before, whole, code, err):
        found = results(folder, self.archive) if os.path.exists(folder.file(self.archive)) else {}
        if found is None:
            return f"the archive cannot be read after exit code {code}"
        if code == 0 and found != whole:
            return "exit 0 without all results"
        if code == 0 and folder.kvsweep("check", self.archive)[0] != 0:
            return "exit 0 and a damaged archive"
        lost = (set(before) | reported(err)) - set(found)
        if lost:
            return f"lost {sorted(lost)}"
        again = folder.kvsweep("run", "faults.toml", "--archive", self.archive)
        if again[0] != 0:
            return f"the next run fails: {again}"
        if results(folder, self.archive) != whole or folder.kvsweep("check", self.archive)[0] != 0:
            return "the next run does not repair it"
        return None


SCENARIOS = [
    Scenario("run", ["run", "faults.toml", "--archive", "new.h5", "--wait-space", "0"], archive="new.h5", strikes="new.h5"),
    Scenario("resume", ["run", "faults.toml", "--archive", "part.h5", "--wait-space", "0"], archive="part.h5", strikes="part.h5"),
    Scenario("merge", ["merge", "part.h5", "other.h5", "-o", "both.h5"], output="both.h5", strikes="both.h5"),
    Scenario("salvage", ["salvage", "part.h5", "-o", "saved.h5"], output="saved.h5", strikes="saved.h5"),
    Scenario("export", ["export", "part.h5", "--table", "steps", "-o", "steps.csv"], output="steps.csv",
             strikes=".kvsweep"),
    Scenario("report", ["report", "part.h5", "-o", "page"], output="page", strikes="page"),
]


class Campaign:
    """Scenarios over folders that were made once."""

    def __init__(self):
        self.made = tempfile.mkdtemp(prefix="kvsweep-faults-made-")
        empty = tempfile.mkdtemp(prefix="kvsweep-faults-empty-")
        with Folder(empty) as folder:
            with open(folder.file("faults.toml"), "w", encoding="ascii") as text:
                text.write(SWEEP.format(jps="[1, 3]"))
            must(folder.kvsweep("run", "faults.toml", "--archive", "whole.h5"), "the undisturbed run")
            for name, policy in (("part.h5", "fcfs"), ("other.h5", "continuum")):
                must(folder.kvsweep("run", "faults.toml", "--archive", name, "--only", f"policy={policy}"), name)
            self.whole = results(folder, "whole.h5")
            self.before = {"part.h5": results(folder, "part.h5"), "new.h5": {}}
            os.remove(folder.file("whole.h5"))
            shutil.copytree(folder.path, self.made, dirs_exist_ok=True)
        os.rmdir(empty)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.made, ignore_errors=True)

    def calls_of(self, scenario, call):
        with Folder(self.made) as folder:
            folder.kvsweep(*scenario.words, fault=f"{call.removeprefix('kill ')}:0:5:{scenario.strikes}")
            return folder.calls()

    def strike(self, scenario, call, nth, should_retry):
        """(exit code, what is wrong or None) of the scenario with its nth such call failing."""
        with Folder(self.made) as folder:
            fault = f"{call.removeprefix('kill ')}:{nth}:{CALLS.get(call, 0)}:{scenario.strikes}"
            code, _, err = folder.kvsweep(*scenario.words, fault=fault + (":on" if should_retry else ""))
            wrong = scenario.judge(folder, self.before.get(scenario.archive, {}), self.whole, code, err)
            if code == KILLED and call not in KILLS:
                wrong = wrong or "killed"
            return code, wrong


def spread(calls, count):
    """At most `count` of the numbers 1 to `calls`, evenly."""
    return sorted({1 + i * calls // min(count, calls) for i in range(min(count, calls))}) if calls else []


def choose(names, among):
    return set(names) & set(among) or set(among)


def main(words):
    journal, count, names = arguments(words, 20)
    chosen = choose(names, [each.name for each in SCENARIOS]) | choose(names, [*CALLS, *KILLS])
    table, wrong = collections.Counter(), 0
    with Campaign() as campaign:
        for scenario in SCENARIOS:
            for call in (*CALLS, *KILLS):
                if scenario.name not in chosen or call not in chosen:
                    continue
                for nth in spread(campaign.calls_of(scenario, call), count):
                    for should_retry in (False, True) if call in CALLS else (False,):
                        key = (scenario.name, call, nth, should_retry)
                        code, fault = journal.once(key, partial(campaign.strike, scenario, *key[1:]))
                        table[scenario.name, call, code] += 1
                        if fault:
                            wrong += 1
                            print("WRONG:", *key, fault, flush=True)
    for (name, call, code), number in sorted(table.items()):
        print(f"{name:8} {call:11} exit {code:3}: {number}")
    print(f"{sum(table.values())} strikes, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
