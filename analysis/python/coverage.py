#!/usr/bin/env python3
"""How often the 95 % intervals of `kvsweep table` and `compare` contain what they estimate, from many simulated seeds.

    kvsweep run sweeps/experiments/matrix-72.toml --set repeat.n=200 --only gpu=h100-80gb --archive cov.h5
    kvsweep export cov.h5 --table cells --format csv -o cov.csv
    coverage.py cov.csv [MORE.csv] [--edges sweeps/coverage/matrix-72.toml]

Draws n = 3, 5 and 10 of a cell's seeds 20,000 times and counts the intervals of the ratio to fcfs that contain the ratio over all
seeds. Prints a Markdown table for each card. Below 90 % a cell is on an edge: its times have an outlier or two modes. --edges writes
those that are at least 1 % from fcfs (nearer ones tie, whatever their interval) as the file from which `kvsweep` marks them. Needs numpy.
"""
import argparse
import csv
import math
import re

import numpy as np
from kvsweep.estimates import quantile

SIZES, DRAWS, EDGE, EQUAL = (3, 5, 10), 20000, 90, 0.01


def read(paths):
    """Mean completion times by card, rate and policy, by seed."""
    csv.field_size_limit(1 << 30)
    cells = {}
    for path in paths:
        for row in csv.DictReader(open(path)):
            if row["status"] == "ok":
                tier = f"-{row['dram_gib']}G" if row.get("dram_gib") else ""
                own = cells.setdefault((row["gpu"], float(row["jps"]), row["policy"] + tier), {})
                own[int(row["seed"])] = float(row["jct_wall_mean_s"])
    return cells


def coverage(values, size, random):
    """The share of Student's t intervals of `size` values that contain the mean of all."""
    drawn = values[np.array([random.choice(len(values), size, replace=False) for _ in range(DRAWS)])]
    half = quantile(size - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(size)
    return float(np.mean(np.abs(drawn.mean(axis=1) - values.mean()) <= half + 1e-15))


def ratios_of(cells):
    """By card, rate and policy: the ratio to fcfs and its coverage for each size."""
    random = np.random.default_rng(1)
    found = {}
    for (gpu, jps, policy), own in cells.items():
        fcfs = cells.get((gpu, jps, "fcfs"))
        if policy != "fcfs" and fcfs:
            logs = np.log([own[seed] / fcfs[seed] for seed in sorted(own) if seed in fcfs])
            found[gpu, jps, policy] = math.exp(logs.mean()), [coverage(logs, size, random) for size in SIZES]
    return found


def is_edge(ratio, shares):
    return round(100 * min(shares)) < EDGE and abs(ratio - 1) >= EQUAL


def in_order(policies):
    """cpu_offload-16G before cpu_offload-128G."""
    return sorted(set(policies), key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def print_table(gpu, ratios):
    policies = in_order(policy for card, _, policy in ratios if card == gpu)
    print(f"\n{gpu}:\n\n| jps |", " | ".join(policies), "|\n|---|" + "---|" * len(policies))
    for jps in sorted({jps for card, jps, _ in ratios if card == gpu}):
        texts = []
        for policy in policies:
            ratio, shares = ratios[gpu, jps, policy]
            text = f"{ratio:.2f}: " + ", ".join(f"{100 * share:.0f}" for share in shares)
            texts.append(f"**{text}**" if is_edge(ratio, shares) else text)
        print(f"| {jps:g} |", " | ".join(texts), "|")


HEAD = """\
# Cells on an edge, written by analysis/python/coverage.py: percent of the 95 % intervals of the ratio to fcfs, with 3, 5 or 10 seeds,
# that contain the ratio over 200 seeds; the least of the three. Cells with 90 % or more, and those less than 1 % from fcfs, are left out.
source = "200 seeds of matrix-72 on sim"
metric = "interval_coverage_percent"

[applies]
backend = "sim"
model = "llama-3.1-8b"
sim.cost_model = "published"
engine.max_num_batched_tokens = 2048
workload.kind = "swe_smith_like"
workload.jobs = 100
workload.gap_s = 1.0
"""


def write_edges(path, ratios):
    with open(path, "w") as out:
        out.write(HEAD)
        edges = {key: 100 * min(shares) for key, (ratio, shares) in ratios.items() if is_edge(ratio, shares)}
        for gpu in sorted({gpu for gpu, _, _ in edges}):
            out.write(f"\n[{gpu}]\n")
            for jps in sorted({jps for card, jps, _ in edges if card == gpu}):
                own = in_order(policy for card, rate, policy in edges if (card, rate) == (gpu, jps))
                out.write(f"jps-{jps:g} = {{ " + ", ".join(f"{policy} = {edges[gpu, jps, policy]:.0f}" for policy in own) + " }\n")


def main():
    parser = argparse.ArgumentParser(description="Coverage of the intervals of simulated cells.")
    parser.add_argument("csv", nargs="+", help="cells of archives, from kvsweep export --table cells --format csv")
    parser.add_argument("--edges", metavar="FILE", help="write the cells on an edge there")
    options = parser.parse_args()
    ratios = ratios_of(read(options.csv))
    for gpu in dict.fromkeys(gpu for gpu, _, _ in ratios):
        print_table(gpu, ratios)
    if options.edges:
        write_edges(options.edges, ratios)


if __name__ == "__main__":
    main()
