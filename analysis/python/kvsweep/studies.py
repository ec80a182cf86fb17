"""Figures of studies, as tables of TOML files describe them: [figure.NAME] in a sweep file or in a file of sweeps/published.

docs/adding-a-study.md explains the keys. `charts_of(archives)` gives what is to be drawn, study_figures.py draws it.
"""
import dataclasses
import pathlib
import statistics

import numpy as np
import pandas as pd

from .external import External

SPANS = 480


@dataclasses.dataclass
class Figure:
    """One table [figure.NAME]."""

    study: str
    name: str
    title: str
    experiments: list
    source: str = ""
    note: str = ""
    over: str = "cells"
    draw: str = "lines"
    where: dict = dataclasses.field(default_factory=dict)
    x: list = dataclasses.field(default_factory=list)
    series: list = dataclasses.field(default_factory=list)
    panel: list = dataclasses.field(default_factory=list)
    x_value: dict = dataclasses.field(default_factory=dict)
    series_name: dict = dataclasses.field(default_factory=dict)
    panel_name: dict = dataclasses.field(default_factory=dict)
    x_name: str = ""
    y: str = ""
    y_name: str = ""
    log: str = ""
    first: int = 0
    published: dict = dataclasses.field(default_factory=dict)  # "SERIES.X" or "PANEL.SERIES.X": value


@dataclasses.dataclass
class Series:
    name: str
    points: dict = dataclasses.field(default_factory=dict)     # x as shown: values of the repeats
    published: dict = dataclasses.field(default_factory=dict)  # x as shown: value
    t: object = None                                           # over time: midpoints of spans, and means within them
    level: object = None
    external: str = ""                                         # the source of an external result


@dataclasses.dataclass
class Panel:
    name: str
    series: list = dataclasses.field(default_factory=list)
    marks: list = dataclasses.field(default_factory=list)  # (t, resumed, level)
    spans: list = dataclasses.field(default_factory=list)  # (request, what, from, to)

    def named(self, name):
        return _named(self.series, name, Series)


@dataclasses.dataclass
class Chart:
    """A figure over the cells of one kind of numbers, of one card unless it compares cards."""

    figure: Figure
    kind: str
    gpu: str
    panels: list = dataclasses.field(default_factory=list)
    remarks: list = dataclasses.field(default_factory=list)

    def named(self, name):
        return _named(self.panels, name, Panel)

    def remark(self, text):
        if text not in self.remarks:
            self.remarks.append(text)


def _named(items, name, make):
    for each in items:
        if each.name == name:
            return each
    items.append(make(name))
    return items[-1]


def _toml(text):
    try:
        import tomllib
    except ImportError:
        raise ValueError("figures of studies are described in TOML, which Python reads from version 3.11 on") from None
    return tomllib.loads(text)


def shown(value):
    """A value of a configuration as displayed by the program."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)


def rename(names, value):
    """One '*' in a pattern matches any text; '*' in the replacement is that text."""
    for pattern, text in names.items():
        if pattern == value:
            return shown(text)
        before, star, behind = pattern.partition("*")
        if star and len(value) >= len(before) + len(behind) and value.startswith(before) and value.endswith(behind):
            return shown(text).replace("*", value[len(before):len(value) - len(behind)], 1)
    return value


def _flat(table, prefix=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def figures_in(text, study, sweep=""):
    """The figures that a TOML document describes, in the order written."""
    document = _toml(text)
    found = []
    for name, table in document.get("figure", {}).items():
        table = dict(table)
        where = {key: shown(value).split(" | ") for key, value in _flat(table.pop("where", {}))}
        names = {each: dict(_flat(table.pop(each, {}))) for each in ("x_value", "series_name", "panel_name")}
        keys = {each: table.pop(each, "").split() for each in ("x", "series", "panel")}
        published = {}
        for key, value in _flat(table.pop("published", {})):
            published[key] = float(value)
        experiments = table.pop("experiment", sweep).split(" | ")
        table.setdefault("x_name", " ".join(keys["x"]))
        table.setdefault("y_name", table.get("y", ""))
        table.setdefault("source", document.get("source", ""))
        found.append(Figure(study=study, name=name, title=table.pop("title", name), experiments=experiments, where=where, published=published,
                            **names, **keys, **table))
    return found


def profiles():
    """sweeps/ in the source tree, or its installed copy."""
    here = pathlib.Path(__file__).resolve()
    for folder in (here.parents[3] / "sweeps", here.parents[2] / "sweeps"):
        if (folder / "published").is_dir():
            return folder
    return None


def _value(cell, key):
    value = cell.config.get(key)
    if value is None and key in cell.row.index and not pd.isna(cell.row[key]):
        value = cell.row[key]
    return value


@dataclasses.dataclass
class _Cell:
    archive: object
    index: int
    row: object
    config: dict

    def label(self, keys):
        return " ".join(shown(value) for value in (_value(self, key) for key in keys) if value is not None)

    def matches(self, where):
        return all((shown(value) if (value := _value(self, key)) is not None else "-") in allowed for key, allowed in where.items())

    def table(self, name):
        return self.archive.table(name, self.index)


def _cells_by_experiment(archives):
    experiments, seen = {}, set()
    for archive in archives:
        for index, row in archive.ok.iterrows():
            if (archive.sweep, row.key) not in seen:
                seen.add((archive.sweep, row.key))
                experiments.setdefault(archive.sweep, []).append(_Cell(archive, index, row, row.config))
    return experiments


def charts_of(archives, folder=None, externals=()):
    """Every figure with cells in the archives. `externals` are external results (kvsweep.external), drawn beside them."""
    folder = pathlib.Path(folder) if folder else profiles()
    figures = []
    for path in sorted(folder.glob("published/*.toml")) if folder else []:
        figures += figures_in(path.read_text(), path.stem)
    for archive in {archive.spec: archive for archive in archives}.values():
        figures += figures_in(archive.spec, archive.sweep, archive.sweep)
    experiments = _cells_by_experiment(archives)
    return [chart for figure in figures for chart in _charts(figure, experiments, externals)]


def _charts(figure, experiments, externals):
    compares = {*figure.x, *figure.series, *figure.panel}
    groups = {}
    for experiment in figure.experiments:
        for cell in experiments.get(experiment, []):
            if cell.matches(figure.where):
                gpu = "" if "gpu" in compares else shown(_value(cell, "gpu"))
                groups.setdefault((cell.row.kind, gpu), []).append(cell)
    charts = []
    for (kind, gpu), cells in groups.items():
        chart = Chart(figure, kind, gpu)
        for cell in cells:
            _ADD[figure.over](chart, chart.named(rename(figure.panel_name, cell.label(figure.panel))), cell)
        _add_published(chart)
        _add_externals(chart, externals)
        charts.append(chart)
    return charts


def _add_value(chart, panel, cell):
    figure = chart.figure
    value = cell.row.get(figure.y)
    if value is None or pd.isna(value):
        chart.remark(f"some cells have no {figure.y}")
        return
    series = panel.named(rename(figure.series_name, cell.label(figure.series)))
    x = rename(figure.x_value, cell.label(figure.x))
    first = chart.__dict__.setdefault("firsts", {}).setdefault((panel.name, series.name, x), cell)
    for key in sorted({*first.config, *cell.config}):
        if first.config.get(key) != cell.config.get(key) and key not in ("repeat.seed", "workload.seed"):
            chart.remark(f"a point is over cells that differ in {key}")
    series.points.setdefault(x, []).append(float(value))


def _add_forwards(chart, panel, cell):
    figure = chart.figure
    series = panel.named(rename(figure.series_name, cell.label(figure.series)))
    if series.points:
        chart.remark("the first of several cells is shown")
        return
    steps = cell.table("steps")
    values = 100 * steps.n_tok / steps.window if figure.y == "window_use" else steps[figure.y]
    series.points = {str(i + 1): [float(value)] for i, value in enumerate(values.head(figure.first) if figure.first else values)}


def _level_over_time(name, steps, level):
    """Time-weighted means of a level in equal spans of time."""
    ends = np.append(steps.t_s.to_numpy(), steps.t_s.iloc[-1] + steps.dur_s.iloc[-1])
    edges = np.linspace(0, ends[-1], SPANS + 1)
    integral = np.concatenate([[0], np.cumsum(level.to_numpy(float) * np.diff(ends))])
    covered = np.clip(edges, ends[0], ends[-1])
    held = np.diff(covered)
    inside = held > 0
    means = np.diff(np.interp(edges, ends, integral))[inside] / held[inside]
    return Series(name, t=((edges[1:] + edges[:-1]) / 2)[inside], level=means)


def _add_kv_use(chart, panel, cell):
    if panel.series:
        chart.remark("the first of several cells is shown")
        return
    steps, evictions = cell.table("steps"), cell.table("evictions")
    used = steps.blk_used + steps.blk_pinned
    device = 100 * used / (used + steps.blk_cached + steps.blk_free)
    host = (100 * steps.host_blk_used / steps.host_blk_total.where(steps.host_blk_total > 0)).fillna(0)
    panel.series = [_level_over_time("device", steps, device), _level_over_time("host", steps, host)]
    for resumed, column in ((False, "t_evict_s"), (True, "t_resume_s")):
        for t in evictions[column].dropna():
            at = max(0, int(np.searchsorted(steps.t_s, t, side="right")) - 1)
            panel.marks.append((float(t), resumed, float(device.iloc[at])))


def _add_span(spans, request, what, start, end):
    """Adds a span, or extends the request's last span if that has the same state."""
    if end <= start:
        return
    for at in range(len(spans) - 1, -1, -1):
        if spans[at][0] == request:
            if spans[at][1] == what and start - spans[at][3] < 1e-6:
                spans[at] = (request, what, spans[at][2], end)
                return
            break
    spans.append((request, what, start, end))


def _add_requests(chart, panel, cell):
    if panel.spans:
        chart.remark("the first of several cells is shown")
        return
    back = set()
    for each in cell.table("evictions").itertuples():
        _add_span(panel.spans, each.job, "copied out", each.t_evict_s, each.t_evict_s + each.out_s)
        if not np.isnan(each.t_resume_s):
            _add_span(panel.spans, each.job, "given way", each.t_evict_s + each.out_s, each.t_resume_s)
            _add_span(panel.spans, each.job, "copied in", each.t_resume_s, each.t_resume_s + each.in_s)
            back.add(each.job)
    rows = cell.table("sched").merge(cell.table("steps")[["step", "t_s", "dur_s", "stall_s"]], on="step")
    worked = []
    for row in rows[rows.kind != "preempted"].itertuples():
        stall = 0 if np.isnan(row.stall_s) else row.stall_s
        if not (row.job in back and row.kind == "resumed"):
            _add_span(worked, row.job, "waits for a copy", row.t_s, row.t_s + stall)
        what = "decode" if row.tokens <= 1 else "recompute" if row.kind == "resumed" else "prefill"
        _add_span(worked, row.job, what, row.t_s + stall, row.t_s + row.dur_s)
    panel.spans += worked


_ADD = {"cells": _add_value, "forwards": _add_forwards, "time": _add_kv_use, "requests": _add_requests}


def _add_published(chart):
    for place, value in chart.figure.published.items():
        for panel in chart.panels:
            prefix = f"{panel.name}." if chart.figure.panel else ""
            if place.startswith(prefix):
                rest = place[len(prefix):]
                # Names and x may contain dots: an existing series decides where the name ends, otherwise the last dot.
                name = next((series.name for series in panel.series if rest.startswith(f"{series.name}.")), rest.rpartition(".")[0])
                panel.named(name).published[rest[len(name) + 1:]] = value
                break


def _add_externals(chart, externals):
    """Adds an external result as a separate series, so that it never shares a median with cells; its source is its label."""
    for external in externals:
        cell = _Cell(None, -1, pd.Series(external.figures), external.config)
        figure = chart.figure
        if figure.over != "cells" or figure.y not in external.figures or external.experiment not in figure.experiments:
            continue
        if not cell.matches(figure.where) or (chart.gpu and chart.gpu != shown(external.config.get("gpu"))):
            continue
        cells = rename(figure.series_name, cell.label(figure.series))
        series = Series(f"{cells}, {external.name} (EXTERNAL)" if cells else f"{external.name} (EXTERNAL)", external=external.kind)
        series.points[rename(figure.x_value, cell.label(figure.x))] = [external.figures[figure.y]]
        chart.named(rename(figure.panel_name, cell.label(figure.panel))).series.append(series)
        chart.remark(f"EXTERNAL, not run by kvsweep: {external.name} is {external.kind}")


def median(values):
    return statistics.median(values)


__all__ = ["Chart", "External", "Figure", "Panel", "Series", "charts_of", "figures_in", "median", "profiles", "rename", "shown"]
