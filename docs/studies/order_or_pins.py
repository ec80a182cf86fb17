#!/usr/bin/env python3
"""The share of Continuum's gain over FCFS that queue order brings alone, and a rule that predicts it before a run.

    kvsweep export ARCHIVE --table cells --format csv -o cells.csv
    order_or_pins.py [--fit | --rule F X0 K] [--by-seed] cells.csv ...

share = (fcfs - job_fcfs) / (fcfs - continuum) of the mean completion time: the part of the gain that order brings alone.
rule:  share = F + (1 - F) / (1 + (X0 / x)^K),  x = pool / (B * (a + gap / s)),
with the token budget B, the mean answer a, and s the seconds of a full step: base + B * (token + pair * mean prompt / 2), by
[measured] of the card's profile in sweeps/gpus. The denominator is the number of tokens that the card computes while a job decodes
an answer and its tool runs. Needs Python 3.11, and no packages.
"""
import argparse
import collections
import csv
import functools
import json
import math
import pathlib
import statistics
import tomllib

PROFILES = pathlib.Path(__file__).resolve().parents[2] / "sweeps" / "gpus"
POLICIES = ["fcfs", "job_fcfs", "pin", "continuum"]


@functools.cache
def constants(gpu):
    """Seconds of a step, of each of its tokens, and of each query-key pair."""
    measured = tomllib.loads((PROFILES / f"{gpu}.toml").read_text())["measured"]
    return measured["base_ms"] * 1e-3, measured["token_us"] * 1e-6, measured["pair_ps"] * 1e-12


def read(paths):
    """Cells by their settings, without policy and seed."""
    csv.field_size_limit(1 << 30)
    cells = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in paths:
        for row in csv.DictReader(open(path)):
            if row["status"] != "ok":
                continue
            config = json.loads(row["config_json"])
            makespan, turns = float(row["makespan_s"]), float(row["turns"])
            answer = float(row["output_tok_per_s"]) * makespan / turns
            prompt = float(row["total_tok_s"]) * makespan / turns - answer
            tokens = (int(float(row["gpu_blocks"])) - 1) * int(float(row["block_size"]))
            jobs = int(float(row["jobs"]))
            key = (config["workload.kind"], jobs, tokens, int(config.get("engine.max_num_batched_tokens", 2048)),
                   float(config.get("workload.gap_s", 1.0)), float(row["jps"]))
            cells[key][int(row["seed"])][row["policy"]] = {
                "gpu": row["gpu"], "jct": float(row["jct_wall_mean_s"]), "makespan": makespan, "a": answer, "L": prompt,
                "row": row}
    return cells


def x_of(key, cell):
    _, _, pool, budget, gap, _ = key
    base, token, pair = constants(cell["gpu"])
    step = base + budget * (token + pair * cell["L"] / 2)
    return pool / (budget * (cell["a"] + gap / step))


def share_by(rule, x):
    floor, x0, k = rule
    return floor + (1 - floor) / (1 + (x0 / x) ** k)


def points(cells, least_gain, by_seed):
    """(key, seed or None, x, gain, share of order, share of pins when they come first)"""
    found = []
    for key, seeds in sorted(cells.items()):
        groups = [[s] for s in sorted(seeds)] if by_seed else [sorted(seeds)]
        for group in groups:
            mean = {}
            for policy in POLICIES:
                values = [seeds[s][policy]["jct"] for s in group if policy in seeds[s]]
                if values:
                    mean[policy] = statistics.mean(values)
            if not {"fcfs", "job_fcfs", "continuum"} <= mean.keys():
                continue
            gain = mean["fcfs"] - mean["continuum"]
            if gain < least_gain * mean["fcfs"]:
                continue
            pins = (mean["fcfs"] - mean["pin"]) / gain if "pin" in mean else math.nan
            cell = next(c for s in group for c in seeds[s].values())
            found.append((key, group[0] if by_seed else None, x_of(key, cell), gain / mean["fcfs"],
                          (mean["fcfs"] - mean["job_fcfs"]) / gain, pins, mean))
    return found


def fit(found):
    def squares(rule):
        return sum((share_by(rule, p[2]) - p[4]) ** 2 for p in found)

    rules = [(f / 100, x0 / 10, k / 2) for f in range(0, 40, 5) for x0 in range(10, 31) for k in range(2, 13)]
    return min(rules, key=squares)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--rule", nargs=3, type=float, metavar=("F", "X0", "K"))
    parser.add_argument("--by-seed", action="store_true")
    parser.add_argument("--least-gain", type=float, default=0.15, help="of fcfs's time; comparisons below it are left out")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    found = points(read(options.csv), options.least_gain, options.by_seed)
    if not found:
        parser.error("no comparison: nowhere is there a cell of each of fcfs, job_fcfs and continuum, or a gain of --least-gain")
    rule = tuple(options.rule) if options.rule else fit(found) if options.fit else None
    if not options.quiet:
        print("kind, jobs, pool, budget, gap, jps, seed: mean JCT fcfs job_fcfs pin continuum | x | order's share, pins' | rule")
        for key, seed, x, gain, share, pins, mean in found:
            times = " ".join(f"{mean.get(p, math.nan):.1f}" for p in POLICIES)
            by = f"{share_by(rule, x):.2f}" if rule else ""
            print(*key, seed, ":", times, f"| {x:.2f} | {share:.2f} {pins:.2f} | {by}")
    if rule:
        close = sum(abs(share_by(rule, p[2]) - p[4]) <= 0.15 for p in found)
        right = sum((share_by(rule, p[2]) > 0.5) == (p[4] > 0.5) for p in found)
        most = sum(p[4] > 0.5 for p in found)
        rms = math.sqrt(sum((share_by(rule, p[2]) - p[4]) ** 2 for p in found) / len(found))
        print(f"rule {rule}: {len(found)} comparisons, share within 15 points in {close}, rms {rms:.3f}, more than half of the gain "
              f"predicted correctly in {right}; order has more than half in {most}; pins alone slower than fcfs in "
              f"{sum(p[5] < 0 for p in found)}")


if __name__ == "__main__":
    main()
