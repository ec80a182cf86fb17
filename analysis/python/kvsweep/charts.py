"""The nine charts of a panel. Each function creates a figure, draws into it and returns it."""
import numpy as np
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (after the choice of the backend)
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from .estimates import mean_interval
from .looks import COLORS, DASHES, policy_look
from .layout import COLUMN, LEGEND, TEXT, legend_below, title
from .panels import fit_line  # noqa: E402

# Of states of blocks and shares of time, as on the pages: no policy's colors.
SHARES = ["#332288", "#b5455a", "#2a8a7b", "#8f3580", "#9a7d20", "#3a86b4", "#117733", "#858b95"]
POINTS = 20_000  # in a scatter plot; more are indistinguishable
SPANS = 240

plt.rcParams.update({
    "font.size": 8, "axes.grid": True, "grid.alpha": 0.25, "axes.spines.top": False, "axes.spines.right": False,
    "legend.frameon": False, "legend.fontsize": LEGEND, "figure.figsize": (COLUMN, 2.5), "figure.constrained_layout.use": True,
    "axes.titley": 1,  # fixed: matplotlib would otherwise measure what is above the axes for every title
    "svg.hashsalt": "kvsweep", "svg.fonttype": "none", "text.parse_math": False, "pdf.fonttype": 42,
})


def look(panel, variant):
    color, dash = policy_look(panel.variants, variant)
    return {"color": COLORS[color], "linestyle": DASHES[dash]}


def _start(panel, what, **more):
    figure, axes = plt.subplots(**more)
    repeats = f"{panel.repeats} repeat{'s' if panel.repeats > 1 else ''}"
    title(figure, f"{panel.name}: {what}", f"{panel.kind}, {repeats}")
    return figure, axes


def _log(axis):
    """Plain numbers, without mathtext, since names from archives may contain dollar signs; over less than a decade and a half also at 2
    and 5."""
    low, high = axis.get_view_interval()
    few = high / low < 30
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_minor_locator(LogLocator(subs=range(1, 10)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _spans(steps, column, spans=SPANS):
    """Midpoints of equal spans of time, and the time-weighted means of a level in them."""
    start = steps.t_s.to_numpy()
    end = start[-1] + steps.dur_s.iloc[-1]
    edges = np.linspace(0, end, spans + 1)
    # The integral of a step function is piecewise linear between the steps.
    held = np.diff(np.append(start, end))
    integral = np.concatenate([[0], np.cumsum(steps[column].to_numpy(float) * held)])
    at = np.interp(edges, np.append(start, end), integral)
    return (edges[1:] + edges[:-1]) / 2, np.diff(at) / np.diff(edges)


def _rates(steps, column, spans=SPANS):
    """Midpoints of equal spans of time, and the rate per second in them; a step's amount is spread evenly."""
    start, dur = steps.t_s.to_numpy(), np.maximum(steps.dur_s.to_numpy(), 1e-12)
    amount = np.nan_to_num(steps[column].to_numpy(float))
    edges = np.linspace(0, start[-1] + dur[-1], spans + 1)
    times = np.column_stack([start, start + dur]).ravel()
    flowed = np.column_stack([np.cumsum(amount) - amount, np.cumsum(amount)]).ravel()
    at = np.interp(edges, times, flowed)
    return (edges[1:] + edges[:-1]) / 2, np.diff(at) / np.diff(edges)


def _multiples(panel, what, draw):
    """A small chart for every variant at the highest rate, sharing axes."""
    rate = max(panel.rates, key=lambda each: (each is not None, each))
    variants = panel.variants
    columns = min(3, len(variants))
    rows = -(-len(variants) // columns)
    figure, axes = _start(panel, f"{what}, {rate} jobs/s", nrows=rows, ncols=columns, squeeze=False, sharex=True, sharey=True,
                          figsize=(COLUMN if columns == 1 else TEXT, 1.6 * rows + 0.8))
    for axis in axes.flat[len(variants):]:
        axis.set_visible(False)
    for axis, variant in zip(axes.flat, variants):
        axis.set_title(variant, fontsize=8)
        cells = panel.of(variant, rate)
        if len(cells):
            draw(axis, panel.rows("steps", cells.head(1)) if draw in (_pool, _traffic) else panel.rows("turns", cells))
    legend_below(figure, *axes.flat)
    return figure


def tokens(panel):
    """Forward tokens per step: log histograms of the largest request's and of all tokens."""
    figure, axes = _start(panel, "forward tokens per step", ncols=2, sharey=True, figsize=(TEXT, 2.7))
    for axis, column, name in zip(axes, ("max_tok", "n_tok"), ("largest request", "whole step")):
        for variant in panel.variants:
            values = panel.rows("steps", panel.of(variant))[column].to_numpy()
            edges = np.unique(np.ceil(8 * 2 ** (np.arange(-12, 60) / 4) - 1e-9))
            counts, _ = np.histogram(values, edges[: np.searchsorted(edges, max(values.max(), 1)) + 2])
            axis.stairs(counts, edges[: len(counts) + 1], label=variant, color=look(panel, variant)["color"],
                        linestyle=look(panel, variant)["linestyle"])
        axis.set(xscale="log", yscale="log", xlabel=f"tokens, {name}", ylim=(0.5, None))
        _log(axis.xaxis)
        _log(axis.yaxis)
    axes[0].set_ylabel("steps")
    legend_below(figure, axes[1])
    return figure


def step_time(panel):
    """Step duration over tokens with the least-squares line, for both meanings of tokens."""
    parts = {variant: panel.rows("steps", panel.of(variant)) for variant in panel.variants}
    every = max(1, -(-sum(len(steps) for steps in parts.values()) // POINTS))
    drawn = "" if every == 1 else f", one step in {every} drawn, lines over all"
    figure, axes = _start(panel, f"step time over tokens{drawn}", ncols=2, sharey=True, figsize=(TEXT, 2.9))
    for axis, column, name in zip(axes, ("max_tok", "n_tok"), ("largest request", "whole step")):
        for variant, steps in parts.items():
            some = steps.iloc[::every]
            axis.scatter(some[column], some.dur_s * 1e3, s=3, alpha=0.35, linewidths=0, rasterized=True,
                         color=look(panel, variant)["color"], label=variant)
        x = np.concatenate([steps[column] for steps in parts.values()])
        y = np.concatenate([steps.dur_s for steps in parts.values()]) * 1e3
        slope, intercept, r2, n = fit_line(x, y)
        if np.isfinite(slope):
            ends = np.array([0, x.max()])
            axis.plot(ends, slope * ends + intercept, color="black", linewidth=1)
            axis.set_title(f"y = {slope:.4g} x + {intercept:.4g} ms, R² = {r2:.3f}, n = {n:,}", fontsize=8)
        axis.set_xlabel(f"tokens, {name}")
    axes[0].set_ylabel("step duration [ms]")
    legend_below(figure, axes[1], marks=3)
    return figure


def turns(panel):
    """Mean turn duration by turn, including queue time, and its cumulative sum."""
    figure, axes = _start(panel, "turn duration by turn", ncols=2, figsize=(TEXT, 2.7))
    for variant in panel.variants:
        rows = panel.rows("turns", panel.of(variant))
        mean = (rows.t_finish_s - rows.t_arrive_s).groupby(rows.turn).mean()
        for axis, values in zip(axes, (mean, mean.cumsum())):
            axis.plot(mean.index + 1, values, marker=".", label=variant, **look(panel, variant))
    for axis, name in zip(axes, ("mean turn duration [s]", "duration of the turns so far [s]")):
        axis.set(xlabel="turn", ylabel=name, ylim=(0, None))
    legend_below(figure, axes[1])
    return figure


def jct(panel):
    """Distribution of job completion times."""
    figure, axis = _start(panel, "job completion times")
    for variant in panel.variants:
        values = np.sort(panel.rows("jobs", panel.of(variant)).jct_wall_s.dropna())
        axis.step(values, np.arange(1, len(values) + 1) / max(1, len(values)) * 100, where="post", label=variant, **look(panel, variant))
    axis.set(xscale="log", xlabel="job completion time [s]", ylabel="jobs that took no longer [%]", ylim=(0, 100))
    _log(axis.xaxis)
    legend_below(figure, axis)
    return figure


def jct_over_rate(panel):
    """Mean job completion time over arrival rate, with 95 % intervals from three repeats on."""
    figure, axis = _start(panel, "job completion time over arrival rate")
    for variant in panel.variants:
        own = [(str(rate), values) for rate in panel.rates if len(values := panel.of(variant, rate).jct_wall_mean_s.dropna())]
        axis.plot([rate for rate, _ in own], [values.mean() for _, values in own], marker="o", markersize=3, linewidth=1, label=variant,
                  **look(panel, variant))
        for rate, values in own:
            low, high = mean_interval(values)
            if np.isfinite(low):
                axis.errorbar([rate], [values.mean()], yerr=[[values.mean() - low], [high - values.mean()]], fmt="none", capsize=2,
                              color=look(panel, variant)["color"])
    axis.set(yscale="log", xlabel="jobs per second", ylabel="mean job completion time [s]")
    _log(axis.yaxis)
    legend_below(figure, axis)
    return figure


def _pool(axis, steps):
    columns = ["blk_used", "blk_pinned", "blk_cached", "blk_free"]
    lines = [_spans(steps, column) for column in columns]
    axis.stackplot(lines[0][0], [line[1] for line in lines], labels=["allocated", "pinned", "cached", "free"],
                   colors=[SHARES[0], SHARES[3], SHARES[2], "#828e9d"], linewidth=0)
    axis.set(xlabel="time [s]", ylabel="KV blocks")
    axis.label_outer()


def _traffic(axis, steps):
    for column, name, color in (("h2d_bytes", "to the device", SHARES[0]), ("d2h_bytes", "to the host", SHARES[3])):
        t, rate = _rates(steps, column)
        axis.plot(t, rate / 1e9, label=f"{name} [GB/s]", color=color, linewidth=0.9)
    if "stall_s" in steps and steps.stall_s.notna().any():
        t, rate = _rates(steps, "stall_s")
        axis.plot(t, rate, label="stalled [s/s]", color=SHARES[1], linewidth=0.9)
    axis.set(xlabel="time [s]", ylabel="GB/s, s/s")
    axis.label_outer()


def _hits(axis, rows):
    computed = (rows.prompt_tok - rows.cached_gpu_tok - rows.cached_host_tok).clip(lower=0)
    again = rows.recomputed_tok.clip(upper=computed)
    parts = [("in VRAM", rows.cached_gpu_tok, SHARES[2]), ("in DRAM", rows.cached_host_tok, SHARES[5]),
             ("computed again", again, SHARES[4]), ("computed, new", computed - again, SHARES[7])]
    means = [tokens_of.groupby(rows.turn).mean() for _, tokens_of, _ in parts]
    # One area each instead of a bar per turn takes a tenth of the time to write.
    edges = np.append(means[0].index + 0.5, means[0].index[-1] + 1.5)
    bottom = np.zeros(len(edges))
    for (name, _, color), mean in zip(parts, means):
        top = bottom + np.append(mean, mean.iloc[-1])
        axis.fill_between(edges, bottom, top, step="post", label=name, color=color, linewidth=0)
        bottom = top
    axis.set(xlabel="turn", ylabel="prompt tokens")
    axis.label_outer()


def pool(panel):
    """KV pool over time by state, one chart per policy."""
    return _multiples(panel, "KV pool over time", _pool)


def queue(panel):
    """Waiting requests over time at the highest rate."""
    rate = max(panel.rates, key=lambda each: (each is not None, each))
    figure, axis = _start(panel, f"queue over time, {rate} jobs/s")
    for variant in panel.variants:
        cells = panel.of(variant, rate).head(1)
        if len(cells):
            axis.plot(*_spans(panel.rows("steps", cells), "n_waiting"), label=variant, linewidth=1, **look(panel, variant))
    axis.set(xlabel="time [s]", ylabel="waiting requests", ylim=(0, None))
    legend_below(figure, axis)
    return figure


def hits(panel):
    """Sources of the prompt tokens of each turn, one chart per policy."""
    return _multiples(panel, "prompt tokens by where they came from", _hits)


def traffic(panel):
    """Bytes moved and time stalled over time, one chart per policy."""
    return _multiples(panel, "bytes moved and stalls", _traffic)


CHARTS = {"tokens": tokens, "step-time": step_time, "turns": turns, "jct": jct, "jct-rate": jct_over_rate, "pool": pool,
          "queue": queue, "hits": hits, "traffic": traffic}
# The table that each chart needs; one without draws figures of cells.
NEEDS = {"tokens": "steps", "step-time": "steps", "pool": "steps", "queue": "steps", "traffic": "steps", "turns": "turns", "hits": "turns",
         "jct": "jobs"}


def charts_of(panel):
    """Names of the charts that every cell of the panel has rows for: a server's steps are not seen, and a cell may be stored without them."""
    seen = {table: all(len(panel.rows(table, panel.cells.loc[[cell]])) for cell in panel.cells.index) for table in set(NEEDS.values())}
    return {name: draw for name, draw in CHARTS.items() if name not in NEEDS or seen[NEEDS[name]]}
