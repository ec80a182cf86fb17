#!/usr/bin/env python3
"""How often the 95 % intervals of `kvsweep table` and `compare` contain what they estimate, from many simulated seeds.

    kvsweep run sweeps/experiments/matrix-72.toml --set repeat.n=200 --only gpu=h100-80gb --archive cov.h5
    kvsweep export cov.h5 --table cells --format csv -o cov.csv
    coverage.py cov.csv

Draws n = 3, 5 and 10 of a cell's seeds 4,000 times and counts the intervals of the ratio to fcfs that contain the ratio over all
seeds. Below 90 % a cell is on an edge: its times have an outlier or two modes. Needs numpy.
"""
import csv
import math
import sys

import numpy as np
from kvsweep.estimates import quantile

SIZES, DRAWS = (3, 5, 10), 4000


def read(path):
    """Mean completion times by rate and policy, by seed."""
    csv.field_size_limit(1 << 30)
    cells = {}
    for row in csv.DictReader(open(path)):
        if row["status"] == "ok":
            tier = f"-{row['dram_gib']}G" if row.get("dram_gib") else ""
            cells.setdefault((float(row["jps"]), row["policy"] + tier), {})[int(row["seed"])] = float(row["jct_wall_mean_s"])
    return cells


def coverage(values, size, random):
    """The share of Student's t intervals of `size` values that contain the mean of all."""
    drawn = values[np.array([random.choice(len(values), size, replace=False) for _ in range(DRAWS)])]
    half = quantile(size - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(size)
    return float(np.mean(np.abs(drawn.mean(axis=1) - values.mean()) <= half + 1e-15))


def main():
    random = np.random.default_rng(1)
    cells = read(sys.argv[1])
    print("jps, policy: ratio to fcfs, standard deviation of its logarithm | coverage of n = 3, 5, 10")
    for (jps, policy), own in sorted(cells.items()):
        fcfs = cells.get((jps, "fcfs"))
        if policy == "fcfs" or not fcfs:
            continue
        logs = np.log([own[seed] / fcfs[seed] for seed in sorted(own) if seed in fcfs])
        shares = [coverage(logs, size, random) for size in SIZES]
        print(f"{jps:g} {policy}: {math.exp(logs.mean()):.3f} {logs.std(ddof=1):.4f} |", *(f"{share:.1%}" for share in shares))


if __name__ == "__main__":
    main()
