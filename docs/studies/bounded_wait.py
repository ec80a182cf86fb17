#!/usr/bin/env python3
"""Draws mean completion over Continuum's against p99 of the time to a job's first token, a point a rule (docs/studies/bounded-wait.md).

    bounded_wait.py OUT.svg NAME=CELLS.csv...      # CELLS.csv: kvsweep export A.h5 --table cells --format csv

"""
import csv
import sys
from statistics import mean

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kvsweep", "font.size": 8})
from matplotlib import pyplot  # noqa: E402

figure, (whole, near) = pyplot.subplots(1, 2, figsize=(8.4, 3.8), width_ratios=(3, 4))
for (name, path), color in zip((word.split("=", 1) for word in sys.argv[2:]), ("C0", "C1", "C2", "C3", "C4")):
    pools = {}
    for row in csv.DictReader(open(path)):
        if row["status"] == "ok":
            rule = row["policy"], row.get("policy.first_wait_s", "")
            pools.setdefault(row["engine.kv_tokens"], {}).setdefault(rule, []).append((float(row["first_token_p99_s"]), float(row["jct_wall_mean_s"])))
    for (pool, rules), marker in zip(sorted(pools.items()), "os"):
        wait = {rule: mean(w for w, _ in cells) for rule, cells in rules.items()}
        time = {rule: mean(t for _, t in cells) / mean(t for _, t in rules["continuum", ""]) for rule, cells in rules.items()}
        bounds = sorted((rule for rule in rules if rule[0] == "working_set"), key=lambda rule: wait[rule])
        others = sorted(set(rules) - set(bounds))
        for axes in whole, near:
            axes.plot([wait[rule] for rule in bounds], [time[rule] for rule in bounds], color=color, marker=marker, ms=3, lw=1,
                      label=f"{name}, {int(pool):,} tokens")
            axes.plot([wait[rule] for rule in others], [time[rule] for rule in others], color=color, marker=marker, ms=4, mfc="none", ls="")
        for rule in others:
            if color == "C0" and marker == "o":
                whole.annotate(rule[0], (wait[rule], time[rule]), xytext=(0, 5), textcoords="offset points")
        for rule in bounds:
            if float(rule[1] or "inf") < 100:
                near.annotate(f"{float(rule[1]):g}", (wait[rule], time[rule]), fontsize=6, xytext=(2, 3), textcoords="offset points", color=color)
whole.set(title="all rules", yscale="log", ylabel="mean JCT over Continuum's (MODELLED)")
whole.set_yticks([1, 1.5, 2, 3], ["1", "1.5", "2", "3"])
near.set(title="working_set by W (numbers), continuum at 1", ylim=(0.92, 1.06))
near.axhline(1, color="0.7", lw=0.8, zorder=0)
for axes in whole, near:
    axes.set(xscale="log", xlabel="p99 of the time to a job's first token [s]")
    axes.minorticks_off()
near.legend(fontsize=6, loc="upper center", ncols=2)
figure.tight_layout()
figure.savefig(sys.argv[1], metadata={"Date": None, "Title": "A bound on the wait for a job's first token"})
