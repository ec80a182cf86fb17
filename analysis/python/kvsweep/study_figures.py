"""Draws figures of studies (kvsweep.studies): published values as hollow marks and dashes beside results of cells."""
import functools
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from .charts import COLORS
from .layout import COLUMN, TEXT, legend_below, title
from .studies import median
from .tables import escape, number, tabular

DOING = {"prefill": COLORS[0], "recompute": COLORS[1], "decode": COLORS[2], "given way": "#e3e6ea", "copied out": COLORS[3],
         "copied in": COLORS[4], "waits for a copy": COLORS[7]}


MARKERS = "os^"  # markers of series that share a color


def draw(chart):
    """The chart as a figure of matplotlib."""
    panels = chart.panels
    columns = 1 if chart.figure.over in ("time", "requests") else min(3, len(panels))
    rows = -(-len(panels) // columns)
    in_time = chart.figure.over in ("time", "requests")
    high = {"time": 2.0, "requests": 1.5}.get(chart.figure.over, 2.2)
    grid, axes = plt.subplots(rows, columns, squeeze=False, sharex=in_time,
                              figsize=(COLUMN if columns == 1 and not in_time else TEXT, high * rows + 0.9))
    title(grid, _title(chart), chart.kind + (f", {chart.gpu}" if chart.gpu else ""))
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels):
        axis.set_title(panel.name, fontsize=8)
        _DRAW[chart.figure.over](axis, chart, panel)
    legend_below(grid, *axes.flat)
    return grid


def _title(chart):
    return f"{chart.figure.study} {chart.figure.name}: {chart.figure.title}"


def foot(chart):
    """The chart's note: the source of the hollow marks (in tables, of the second numbers), and caveats."""
    published = any(series.published for panel in chart.panels for series in panel.series)
    theirs = "Behind the slash" if chart.figure.draw == "table" else "Hollow"
    return " ".join([f"{theirs}: published ({chart.figure.source})." if published else "", chart.figure.note, *(f"{each}." for each in chart.remarks)]).strip()


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def places(chart, panel):
    """Every x of a panel, in the order of the first series that has it; numbers ascend."""
    xs = list(dict.fromkeys(x for series in panel.series for x in [*series.points, *series.published]))
    return sorted(xs, key=float) if all(map(_is_number, xs)) else xs


def _scales(axis, chart, numeric):
    figure = chart.figure
    if "x" in figure.log and numeric:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_locator(NullLocator())
    elif chart.figure.over == "forwards":
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if "y" in figure.log:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
    else:
        axis.set_ylim(bottom=0)
    axis.set(xlabel=figure.x_name, ylabel=figure.y_name)


def _lines(axis, chart, panel):
    if chart.figure.draw == "bars":
        return _bars(axis, chart, panel)
    xs = places(chart, panel)
    numeric = all(map(_is_number, xs))
    at = {x: float(x) if numeric else i for i, x in enumerate(xs)}
    for i, series in enumerate(panel.series):
        color, marker = COLORS[i % len(COLORS)], MARKERS[i // len(COLORS) % len(MARKERS)]
        points = sorted((at[x], median(values), min(values), max(values)) for x, values in series.points.items())
        if points:
            x, y, low, high = map(np.array, zip(*points))
            look = {"marker": "X", "markersize": 7, "linestyle": ":"} if series.external else {"marker": marker, "markersize": 3}
            axis.plot(x, y, linewidth=1.2, color=color, label=series.name, **look)
            if (high > low).any():
                axis.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
        published = sorted((at[x], y) for x, y in series.published.items())
        if published:
            axis.plot(*zip(*published), marker=marker, markersize=4, markerfacecolor="white", linewidth=0.9, linestyle=(0, (3, 2)), color=color,
                      label=f"{series.name}, published")
    if not numeric:
        axis.set_xticks(range(len(xs)), xs, rotation=20, fontsize=7)
    elif len(xs) <= 8 and "x" not in chart.figure.log:
        axis.set_xticks([float(x) for x in xs], xs)
    _scales(axis, chart, numeric)


def _bars(axis, chart, panel):
    xs = places(chart, panel)
    width = 0.8 / max(1, len(panel.series))
    for i, series in enumerate(panel.series):
        color = COLORS[i % len(COLORS)]
        left = np.arange(len(xs)) - 0.4 + (i + 0.5) * width
        own = [median(series.points[x]) if x in series.points else np.nan for x in xs]
        theirs = [series.published.get(x, np.nan) for x in xs]
        if series.points:
            look = {"facecolor": "white", "edgecolor": color, "hatch": "////"} if series.external else {"color": color}
            axis.bar(left, own, width * 0.92, label=series.name, **look)
        if series.published:
            axis.plot(left, theirs, linestyle="none", marker="D", markersize=4.5, markerfacecolor="white", markeredgecolor="black", color=color, label=f"{series.name}, published")
    axis.set_xticks(range(len(xs)), xs, rotation=20, fontsize=7)
    _scales(axis, chart, False)


def _time(axis, chart, panel):
    for series, color in zip(panel.series, (COLORS[0], COLORS[1])):
        axis.plot(series.t, series.level, color=color, linewidth=1, label=f"{series.name} KV")
    for resumed, marker, name, color in ((False, "v", "evict", COLORS[3]), (True, "^", "resume", COLORS[2])):
        marks = [(t, level) for t, each, level in panel.marks if each == resumed]
        if marks:
            few = len(marks) <= 20
            for t, _ in marks if few else []:
                axis.axvline(t, color=color, linewidth=0.8, linestyle=":")
            t, level = zip(*marks)
            axis.plot(t, level if few else [104 if resumed else 109] * len(t), marker=marker, markersize=6 if few else 2.5, linestyle="none", color=color, label=name)
    axis.set(xlabel=chart.figure.x_name or "time [s]", ylabel="KV in use [%]", ylim=(0, 112))
    axis.label_outer()


def _requests(axis, chart, panel):
    requests = sorted({span[0] for span in panel.spans})
    for request, what, start, end in panel.spans:
        axis.barh(requests.index(request), end - start, left=start, height=0.6, color=DOING[what], label=what, linewidth=0)
    names = [chr(ord("A") + i) if len(requests) <= 26 else str(each) for i, each in enumerate(requests)]
    axis.set_yticks(range(len(requests)), [f"request {name}" for name in names])
    axis.invert_yaxis()
    axis.set(xlabel=chart.figure.x_name or "time [s]")
    axis.label_outer()


_DRAW = {"cells": _lines, "forwards": _lines, "time": _time, "requests": _requests}


def table(chart):
    """As LaTeX: our value, a slash, and the published value."""
    head, rows = None, []
    for panel in chart.panels:
        xs = places(chart, panel)
        head = head or [escape(chart.figure.x_name), *map(escape, xs)]
        for series in panel.series:
            name = f"{panel.name}, {series.name}" if panel.name else series.name
            ours = {x: number(median(values), 5) for x, values in series.points.items()}
            rows.append([escape(name), *(ours.get(x, "--") + (f" / {number(series.published[x], 5)}" if x in series.published else "") for x in xs)])
    note = f"{_title(chart)}: {chart.figure.y_name}; ours / published\n{chart.kind} {chart.gpu}\n" + "\n".join(textwrap.wrap(foot(chart), 110))
    return tabular(head, rows, note)


def _write(chart, out, formats):
    from . import saving

    name = saving.file_name(chart.figure.study, chart.figure.name, chart.gpu, chart.kind.split(" (")[0])
    if chart.figure.draw == "table":
        (out / f"{name}.tex").write_text(table(chart))
    else:
        saving.save(draw(chart), out / name, formats)
        (out / f"{name}.txt").write_text(f"{_title(chart)}. {chart.kind}. {foot(chart)}\n")


def write_studies(paths, externals, out, formats, processes=1):
    """Draws every study's figure with cells in these archives; returns the archives with such cells."""
    import kvsweep
    from . import external, saving, studies

    archives = {path: kvsweep.open(path) for path in paths}
    charts = studies.charts_of(list(archives.values()), externals=[external.load(path) for path in externals])
    saving.do_all([functools.partial(_write, chart, out, formats) for chart in charts], processes)
    drawn = {experiment for chart in charts for experiment in chart.figure.experiments}
    found = {path for path, archive in archives.items() if archive.sweep in drawn}
    if found:
        print(f"{', '.join(map(str, found))}: {len(charts)} figures and tables of studies in {out}")
    return found
