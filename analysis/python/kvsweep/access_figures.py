"""Accesses to the KV cache over time: figures of the access log (/kv_access, /access_rows, /access_kernels of an archive).

    access_figures.accesses(archive, cell).savefig("accesses.png")      # blocks over time, K above V, colored by request
    access_figures.idle_share(archive, cell)                            # frame: block, K or V, share of the time without an access
"""
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from .charts import COLORS
from .layout import TEXT, legend_below, title

_CACHES = (("K", ("read_key", "write_key")), ("V", ("read_value", "write_value")))
_GAP = 0.5  # a pause of all accesses that is longer than this share of the time with accesses is cut to it


class NoAccessLog(ValueError):
    """The cell logged no accesses."""


def logged(archive, cell, layer=None, steps=None):
    """Accesses of a cell with the job that each served and `is_read`; of the first logged layer if none is given."""
    try:
        rows = archive.table("kv_access", cell)
    except KeyError:
        rows = pd.DataFrame()
    if not len(rows):
        raise NoAccessLog(f"cell {cell} of {archive.path} logged no KV accesses")
    rows = rows[rows.layer == (rows.layer.min() if layer is None else layer)]
    if steps is not None:
        rows = rows[rows.step.isin(steps)]
    served = archive.table("access_rows", cell)[["step", "batch_row", "job", "phase"]]
    rows = rows.merge(served, on=["step", "batch_row"], how="left", validate="many_to_one")
    rows["is_read"] = rows.kind.str.startswith("read")
    return rows.sort_values("t_s", kind="stable", ignore_index=True)


def cut_gaps(start, end, gap=None):
    """Maps times so that pauses without any interval become short. Returns the map and the places of the cuts on the new axis.

    `start` ascends. A pause counts when it is longer than `gap`, by default half of the time
    outside of pauses."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    busy_until = np.maximum.accumulate(end)
    pauses = np.append(start[1:] - busy_until[:-1], 0.0)
    limit = _GAP * (busy_until[-1] - start[0] - pauses.clip(0).sum()) if gap is None else gap
    at = np.flatnonzero(pauses > limit)
    begins, lost = busy_until[at], pauses[at] - limit

    def place(t):
        t = np.asarray(t, float)
        inside = np.clip(t[..., None] - begins, 0, lost + limit) if len(at) else np.zeros(t.shape + (1,))
        shrunk = inside * (lost / (lost + limit)) if len(at) else inside
        return t - start[0] - shrunk.sum(axis=-1)

    return place, place(begins + (lost + limit) / 2) if len(at) else np.array([])


def accesses(archive, cell, layer=None, steps=None, most=60_000):
    """Blocks over time, K above V. Filled marks are reads, hollow ones writes; dotted lines mark cut pauses of all accesses."""
    rows = logged(archive, cell, layer, steps)
    place, cuts = cut_gaps(rows.t_s, rows.t_s + rows.dur_s)
    total = len(rows)
    every = max(1, -(-total // most))
    # At random: every n-th row would always be of the same head or request.
    rows = rows.iloc[np.sort(np.random.default_rng(42).choice(total, -(-total // every), replace=False))] if every > 1 else rows
    blocks = {block: i for i, block in enumerate(sorted(rows.block.unique()))}
    figure, axes = plt.subplots(2, 1, figsize=(TEXT, 4.4), sharex=True, sharey=True)
    for axis, (name, kinds) in zip(axes, _CACHES):
        own = rows[rows.kind.isin(kinds)]
        for i, (job, part) in enumerate(own.groupby("job", sort=True)):
            color = COLORS[i % len(COLORS)]
            for is_read, some in part.groupby("is_read"):
                y = some.block.map(blocks) + (some.first_slot + some.n_slots / 2) / max(1, (some.first_slot + some.n_slots).max()) * 0.8
                axis.scatter(place(some.t_s) * 1e6, y, s=5, linewidths=0.6, rasterized=True, label=f"request {job}, {'read' if is_read else 'write'}",
                             **({"color": color} if is_read else {"facecolors": "none", "edgecolors": color}))
        for cut in cuts:
            axis.axvline(cut * 1e6, color="#9aa3ad", linewidth=0.8, linestyle=":")
        axis.set(ylabel=f"{name}: block (offset within)")
    axes[1].set_xlabel("time [us], pauses cut")
    legend_below(figure, axes[0], marks=2)
    kind = archive.cells.kind[cell]
    shown = "" if every == 1 else f", one access in {every}, picked at random"
    title(figure, f"KV accesses of layer {rows.layer.iloc[0]}, cell {cell}{shown}", kind)
    return figure


def idle_share(archive, cell, layer=None):
    """For each block, separately for K and V: share of the time from the layer's first to its last access without an access to it,
    its longest pause, and the time from its last write to the end."""
    rows = logged(archive, cell, layer)
    first, last = rows.t_s.min(), (rows.t_s + rows.dur_s).max()
    found = []
    for name, kinds in _CACHES:
        for block, own in rows[rows.kind.isin(kinds)].groupby("block"):
            start, end = own.t_s.to_numpy(), (own.t_s + own.dur_s).to_numpy()
            until = np.maximum.accumulate(end)
            edges = np.append(start, last)
            pauses = np.clip(edges - np.insert(until, 0, first), 0, None)
            writes = own[~own.is_read]
            since = last - (writes.t_s + writes.dur_s).max() if len(writes) else np.nan
            found.append((block, name, pauses.sum() / (last - first) if last > first else np.nan, pauses.max(), since))
    return pd.DataFrame(found, columns=["block", "cache", "idle_share", "longest_pause_s", "since_last_write_s"])


def write(path, out, formats, steps=5):
    """Draws the first logged steps of every cell with an access log, and tabulates idle shares; returns the number of figures."""
    import kvsweep
    from . import saving

    archive = kvsweep.open(path)
    cells = archive.ok
    cells = cells[cells.kv_access_n > 0] if "kv_access_n" in cells else cells.head(0)
    for cell in cells.index:
        name = saving.file_name(archive.sweep, f"cell-{cell}", "accesses")
        first = sorted(archive.table("kv_access", cell).step.unique())[:steps]
        saving.save(accesses(archive, cell, steps=first), out / name, formats)
        idle_share(archive, cell).to_csv(out / f"{name}-idle.csv", index=False, float_format="%.9g")
    return len(cells)
