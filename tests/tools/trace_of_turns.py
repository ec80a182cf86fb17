#!/usr/bin/env python3
"""Writes turns that were recorded with their lengths and tool times as rows of Mooncake, for python3 -m kvsweep.traces.

    trace_of_turns.py TURNS.csv[.xz] OUT.jsonl [SOURCE...]

TURNS has a row a turn with the columns source, id, turn, tool, prompt_tokens, output_tokens and exec_s. Of these sources (all without
any), jobs count of which every turn but the last has a tool time. A prompt begins with the one in front of it, as far as both go.
"""
import csv
import io
import itertools
import json
import lzma
import sys

BLOCK = 16


def opened(path):
    return io.TextIOWrapper(lzma.open(path)) if path.endswith(".xz") else open(path, encoding="utf-8")


def jobs(path, sources):
    with opened(path) as file:
        rows = [row for row in csv.DictReader(file) if not sources or row["source"] in sources]
    for name, turns in itertools.groupby(rows, key=lambda row: (row["source"], row["id"])):
        turns = sorted(turns, key=lambda row: int(row["turn"]))
        if all(row["exec_s"] and float(row["exec_s"]) >= 0 for row in turns[:-1]):
            yield "/".join(name), turns


def main(path, out, *sources):
    fresh = itertools.count()
    with open(out, "w", encoding="utf-8") as target:
        for name, turns in jobs(path, sources):
            ids, wait_s = [], 0.0
            for number, turn in enumerate(turns):
                prompt = int(turn["prompt_tokens"])
                ids = ids[:prompt // BLOCK] + [next(fresh) for _ in range(prompt // BLOCK - len(ids))]
                row = {"session_id": name, "input_length": prompt, "output_length": max(1, int(turn["output_tokens"])),
                       "block_size": BLOCK, "hash_ids": ids, "tool_wait_ms": 1e3 * wait_s}
                if turn["tool"]:
                    row["tool"] = turn["tool"]
                target.write(json.dumps(row) + "\n")
                wait_s = float(turn["exec_s"] or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
