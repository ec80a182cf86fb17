"""Draws the charts of a report (analysis/report/chart.hpp writes and explains them) with matplotlib, as the pages draw them."""
import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (after the choice of the backend)
import numpy as np  # noqa: E402
from matplotlib.collections import PatchCollection  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter  # noqa: E402

from .layout import COLUMN, LEGEND, TEXT, legend_below, title  # noqa: E402
from .looks import COLORS, DASHES, MEANINGS, policy_look  # noqa: E402

MARKS = {"square": "s", "up": "^", "down": "v", "right": ">"}
MANY = 12  # numbers below an axis, of which fewer are shown

plt.rcParams.update({
    "font.size": 8, "axes.grid": True, "grid.alpha": 0.25, "axes.spines.top": False, "axes.spines.right": False,
    "legend.frameon": False, "legend.fontsize": LEGEND, "figure.figsize": (COLUMN, 2.5), "figure.constrained_layout.use": True,
    "axes.titley": 1,  # fixed: matplotlib would otherwise measure what is above the axes for every title
    "svg.hashsalt": "kvsweep", "svg.fonttype": "none", "text.parse_math": False, "pdf.fonttype": 42,
})


def draw(chart, variants=()):
    """The chart as a figure of matplotlib; `variants` are all policies of its report, whose colors and dashes differ."""
    panels = chart["panels"]
    columns = min(chart["columns"], len(panels))
    rows = -(-len(panels) // columns)
    stacked = columns == 1 and rows > 1
    width = COLUMN if len(panels) == 1 and not panels[0].get("flat") and not _boxes(panels[0]) else TEXT
    height = 0.5 + 0.22 * len(panels[0]["x"]["names"]) if panels[0].get("flat") else 1.5 if stacked else 2.1
    figure, axes = plt.subplots(rows, columns, squeeze=False, sharex=stacked, figsize=(width, height * rows + 0.9))
    jps = f", {chart['jps']} jobs/s" if chart["jps"] not in ("", "-", "all") else ""
    title(figure, chart["title"] + jps, ", ".join(each for each in (chart["kind"], chart["gpu"], chart["settings"]) if each))
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels):
        _panel(axis, panel, variants)
        if stacked:
            axis.label_outer()
    legend_below(figure, *figure.axes)
    return figure


def _boxes(panel):
    return any(series["draw"] == "boxes" for series in panel["series"])


def _look(series, variants):
    place, dash = policy_look([*variants, series["policy"]], series["policy"]) if "policy" in series else (0, 0)
    color = series.get("color", str(place))
    shown = MEANINGS[color] if color in MEANINGS else "black" if color == "text" else COLORS[int(color) % len(COLORS)]
    return shown, DASHES[1 if series.get("dashed") else dash]


def _panel(axis, panel, variants):
    if panel["name"]:
        axis.set_title(panel["name"], fontsize=8)
    bottom, groups = {}, [series for series in panel["series"] if series["draw"] == "bars"]
    for series in panel["series"]:
        _SERIES[series["draw"]](axis, panel, series, *_look(series, variants), bottom, groups)
    for x, label in panel.get("lines", ()):
        axis.axvline(x, color="#9aa3ad", linewidth=0.8, linestyle=":")
    names = panel["x"].get("names", ())
    if panel.get("flat"):
        axis.set_yticks(range(len(names)), names)
        axis.set_xlabel(panel["y"]["name"])
        axis.set_xlim(left=panel["y"].get("from"))
        axis.invert_yaxis()
        for place, text in enumerate(panel["x"].get("beside", ())):
            axis.text(1.02, place, text, transform=axis.get_yaxis_transform(), va="center", fontsize=6)
        return
    _scale(axis, "x", panel["x"])
    _scale(axis, "y", panel["y"])
    if panel.get("downward"):
        axis.invert_yaxis()


def _scale(axis, which, about):
    """Plain numbers, without mathtext, since names from archives may contain dollar signs; over less than a decade and a half also at 2
    and 5."""
    names, own = about.get("names", ()), getattr(axis, f"{which}axis")
    getattr(axis, f"set_{which}label")(about["name"])
    if names:
        is_number = all(name.isdigit() for name in names)
        every = len(names) // MANY + 1 if is_number else 1
        turned = which == "x" and len("".join(names)) > 40
        getattr(axis, f"set_{which}ticks")(range(0, len(names), every), names[::every], fontsize=7, rotation=20 if turned else 0)
        return
    getattr(axis, f"set_{which}lim")(about.get("from"), about.get("to"))
    if about.get("log"):
        base = about["log"]
        getattr(axis, f"set_{which}scale")("log", base=base)
        low, high = own.get_view_interval()
        if base == 10:
            own.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 30 else (1,)))
            own.set_minor_locator(LogLocator(subs=range(1, 10)))
        own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        own.set_minor_formatter(NullFormatter())
    elif about["name"] in ("turn", "forward pass"):
        own.set_major_locator(MaxNLocator(integer=True))


def _numbers(series, key):
    return np.array([math.nan if each is None else each for each in series.get(key, ())], float)


def _ranges(axis, panel, series, color):
    x, y, low, high = (_numbers(series, key) for key in ("x", "y", "low", "high"))
    if len(low) and (is_range := high > low).any():
        x, y, reach = x[is_range], y[is_range], [(y - low)[is_range], (high - y)[is_range]]
        at = {"x": y, "y": x, "xerr": reach} if panel.get("flat") else {"x": x, "y": y, "yerr": reach}
        axis.errorbar(**at, fmt="none", capsize=2, color=color)


def _line(axis, panel, series, color, dash, bottom, groups):
    x, y = _numbers(series, "x"), _numbers(series, "y")
    how, hollow = series["draw"], series.get("hollow")
    look = {"marker": MARKS.get(series.get("mark"), "o"), "markersize": 3,
            "markerfacecolor": "white" if hollow else color} if series.get("points") else {}
    label = None if series.get("quiet") else series["name"]
    axis.plot(x, y, color=color, linestyle=dash, linewidth=0.9 if hollow else 1.2, drawstyle="default" if how == "line" else "steps-post", label=label, **look)
    _ranges(axis, panel, series, color)


def _dots(axis, panel, series, color, dash, bottom, groups):
    marker = MARKS.get(series.get("mark"), "o")
    at = [_numbers(series, key) for key in ("yx" if panel.get("flat") else "xy")]
    steps = series.get("more", {}).get("steps")
    ring = series.get("hollow") and "label" in series.get("more", {})
    size = 60 if ring else 12 if steps is None else 3 + 3 * np.log10(np.maximum(1, np.array(steps, float)))
    look = {"facecolors": "none", "edgecolors": color, "linewidths": 0.9} if series.get("hollow") else {"color": color, "linewidths": 0}
    axis.scatter(*at, s=size, marker=marker, alpha=0.6 if steps else 1, rasterized=steps is not None,
                 label=None if series.get("quiet") else series["name"], **look)
    _ranges(axis, panel, series, color)


def _bars(axis, panel, series, color, dash, bottom, groups):
    x, y = _numbers(series, "x"), np.nan_to_num(_numbers(series, "y"))
    look = {"color": color, "linewidth": 0}
    if series.get("hollow"):
        look = {"facecolor": "white", "edgecolor": color, "linestyle": "--"}
    if series["draw"] == "stack":
        below = np.array([bottom.get(each, 0) for each in x])
        bottom.update(zip(x, below + y))
        draw_bars, edge = (axis.barh, "left") if panel.get("flat") else (axis.bar, "bottom")
        draw_bars(x, y, 0.7 if panel.get("flat") else 0.85, label=series["name"], **{edge: below}, **look)
        return
    width = 0.8 / len(groups)
    axis.bar(x - 0.4 + (groups.index(series) + 0.5) * width, y, width * 0.92, label=series["name"], **look)


def _draw_boxes(axis, panel, series, color, dash, bottom, groups):
    x, y, end, high = (_numbers(series, key) for key in ("x", "y", "end", "high"))
    look = {"facecolor": "none", "edgecolor": color, "linewidth": 0.6} if series.get("hollow") else {"facecolor": color, "linewidth": 0}
    boxes = [Rectangle((left, low), right - left, above - low) for left, low, right, above in zip(x, y, end, high)]
    axis.add_collection(PatchCollection(boxes, rasterized=len(boxes) > 500, **look))
    axis.autoscale_view()
    if not series.get("quiet"):
        axis.bar([math.nan], [math.nan], label=series["name"], **look)


_SERIES = {"line": _line, "steps": _line, "dots": _dots, "bars": _bars, "stack": _bars, "boxes": _draw_boxes}


def together(charts, rate=None):
    """Charts with the same id as one, a panel for each: of policies, and of tokens and turns in both meanings. Of rates the one given,
    or all, or the highest."""
    made = {}
    for chart in charts:
        if "nothing" not in chart:
            made.setdefault(chart["id"], []).append(chart)
    for own in made.values():
        rates = [chart["at"]["rate"] for chart in own if "rate" in chart["at"]]
        wanted = rate if rate in rates else "all" if "all" in rates else rates[-1] if rates else None
        own = [chart for chart in own if chart["at"].get("rate") == wanted]
        first, *others = own
        if others:
            panels = [panel | {"name": chart["at"].get("policy", "")} for chart in own for panel in chart["panels"]]
            first = first | {"panels": panels, "columns": min(3, len(panels))}
        yield first


_SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
            "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


def escape(text):
    """Any text, escaped for LaTeX."""
    return "".join(_SPECIAL.get(each, each) for each in str(text).replace("\n", " "))


def _tabular(head, rows, note):
    lines = [f"% {line}" for line in note.splitlines()]
    lines += [r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}", r"\toprule", " & ".join(map(escape, head)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(escape, row)) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def latex_of_chart(chart):
    """A chart's numbers as a tabular environment for \\input, with the rules of the package booktabs: a row for each series."""
    (panel, *_), rows = chart["panels"], []
    for each in chart["panels"]:
        for series in each["series"]:
            values = dict(zip(series["x"], series["y"]))
            rows.append([f"{each['name']}, {series['name']}" if each["name"] else series["name"], values])
    places = sorted({x for _, values in rows for x in values})
    names = panel["x"].get("names")
    head = [panel["x"]["name"], *(names[int(x)] if names else f"{x:g}" for x in places)]
    number = lambda value: "--" if value is None else f"{value:,.5g}"  # noqa: E731
    return _tabular(head, [[name, *(number(values.get(x)) for x in places)] for name, values in rows],
                    f"{chart['title']}: {panel['y']['name']}\n{chart['kind']} {chart['gpu']}\n{chart['note']}")


def latex_of_table(table):
    """A table of the report: its texts as they are."""
    return _tabular(table["columns"], table["rows"], "\n".join([table["heading"], table["kind"], *table["notes"]]))
