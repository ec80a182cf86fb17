"""Draws what `measure_farm.py growth` printed: growth_chart.py growth.txt growth.svg."""
import re
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "kvsweep"
from matplotlib import pyplot  # noqa: E402

LINE = re.compile(r"(\d+) (cells|jobs), (\w+): exit code 0, ([\d.]+) s of processor time")
NAMES = {("cells", "all"): "one-job cells", ("jobs", "all"): "jobs of one cell, every table",
         ("jobs", "summary"): "jobs of one cell, summary"}


def series(text):
    points = {}
    for count, what, level, seconds in LINE.findall(text):
        points.setdefault(NAMES[what, level], []).append((int(count), float(seconds)))
    return points


def draw(points, path):
    figure, axes = pyplot.subplots(figsize=(5.5, 3.4), layout="constrained")
    for (name, values), mark in zip(points.items(), "os^"):
        axes.loglog(*zip(*values), marker=mark, label=name)
    axes.loglog((100, 10 ** 5), (0.2, 200), color="0.6", linestyle=":", label="linear: 2 ms each")
    axes.set_xlabel("cells, or jobs")
    axes.set_ylabel("processor time of all processes, s")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as lines:
        draw(series(lines.read()), sys.argv[2])
