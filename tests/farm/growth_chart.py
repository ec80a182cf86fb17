"""Draws what `measure_farm.py growth` printed: growth_chart.py growth.txt FOLDER, into FOLDER/growth.svg."""
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "analysis", "python"))
from kvsweep.draw import plt  # noqa: E402
from kvsweep.saving import save  # noqa: E402

LINE = re.compile(r"(\d+) (cells|jobs), (\w+): exit code 0, ([\d.]+) s of processor time")
NAMES = {("cells", "all"): "one-job cells", ("jobs", "all"): "jobs of one cell, every table",
         ("jobs", "summary"): "jobs of one cell, summary"}


def series(text):
    points = {}
    for count, what, level, seconds in LINE.findall(text):
        points.setdefault(NAMES[what, level], []).append((int(count), float(seconds)))
    return points


def draw(points):
    figure, axes = plt.subplots(figsize=(5.5, 3.4))
    for (name, values), mark in zip(points.items(), "os^"):
        axes.plot(*zip(*values), marker=mark, label=name)
    axes.plot((100, 10 ** 5), (0.2, 200), color="0.6", linestyle=":", label="linear: 2 ms each")
    axes.set(xscale="log", yscale="log", xlabel="cells, or jobs",
             ylabel="processor time of all processes, s")
    axes.legend()
    return figure


if __name__ == "__main__":
    measured = series(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    save(draw(measured), pathlib.Path(sys.argv[2]) / "growth", ["svg"], json.dumps(measured))
