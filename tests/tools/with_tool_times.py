#!/usr/bin/env python3
"""Gives recorded agents the durations that were recorded of their tools elsewhere.

    with_tool_times.py AGENTS.jsonl[.xz] TIMES.csv[.xz] OUT.jsonl [SEED]

AGENTS has a job a line, {id, messages, turns[{tool, ...}]}; TIMES the columns `tool` and `exec_s`, of which empty and negative ones
do not count. Each turn but a job's last gets an exec_s drawn from the recorded times of its tool, or of all tools where fewer than
FEWEST were recorded of its own. OUT is for python3 -m kvsweep.traces.
"""
import csv
import io
import json
import lzma
import random
import sys

FEWEST = 5  # with fewer, a tool's own times say less than those of all tools


def opened(path):
    return io.TextIOWrapper(lzma.open(path)) if path.endswith(".xz") else open(path, encoding="utf-8")


def recorded_times(path):
    by_tool = {}
    with opened(path) as file:
        for row in csv.DictReader(file):
            if row["exec_s"] and float(row["exec_s"]) >= 0:
                by_tool.setdefault(row["tool"], []).append(float(row["exec_s"]))
    return by_tool


def main(agents, times, out, seed="42"):
    by_tool = recorded_times(times)
    pooled = [seconds for each in by_tool.values() for seconds in each]
    draw = random.Random(int(seed))
    own = total = 0
    with opened(agents) as source, open(out, "w", encoding="utf-8") as target:
        for line in source:
            job = json.loads(line)
            for turn in job["turns"][:-1]:
                known = by_tool.get(turn.get("tool"), [])
                turn["exec_s"] = draw.choice(known if len(known) >= FEWEST else pooled)
                own += len(known) >= FEWEST
                total += 1
            target.write(json.dumps(job) + "\n")
    print(f"{total} calls, {own} of them with times of their own tool")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
