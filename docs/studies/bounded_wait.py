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

figure, axes = pyplot.subplots(figsize=(6, 3.6))
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
        axes.plot([wait[rule] for rule in bounds], [time[rule] for rule in bounds], color=color, marker=marker, ms=3, lw=1,
                  label=f"{name}, {int(pool):,} tokens")
        for rule in sorted(set(rules) - set(bounds)):
            axes.plot(wait[rule], time[rule], color=color, marker=marker, ms=3, mfc="none", ls="")
            axes.annotate(rule[0], (wait[rule], time[rule]), fontsize=5, xytext=(3, 2), textcoords="offset points")
axes.set(xscale="log", yscale="log", xlabel="p99 of the time to a job's first token [s]", ylabel="mean JCT over Continuum's (MODELLED)")
axes.set_yticks([1, 1.5, 2, 3], ["1", "1.5", "2", "3"])
axes.minorticks_off()
axes.legend(title="lines: working_set, by policy.first_wait_s", fontsize=6, title_fontsize=6)
figure.tight_layout()
figure.savefig(sys.argv[1], metadata={"Date": None, "Title": "A bound on the wait for a job's first token"})
