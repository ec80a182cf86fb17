"""The cells of archives in panels: groups that may share a figure or a table."""
import dataclasses
import math

import numpy as np
import pandas as pd

from .estimates import decide

# Keys in which cells of one panel differ.
WITHIN = {"gpu", "policy", "jps", "dram_gib"}
# The columns that charts and tables use; reading all columns would take most of their time.
COLUMNS = {
    "steps": ("t_s", "dur_s", "n_tok", "max_tok", "n_waiting", "blk_used", "blk_pinned", "blk_cached", "blk_free",
              "h2d_bytes", "d2h_bytes", "stall_s"),
    "turns": ("turn", "t_arrive_s", "t_finish_s", "prompt_tok", "cached_gpu_tok", "cached_host_tok", "recomputed_tok"),
    "jobs": ("jct_wall_s",),
}


@dataclasses.dataclass
class Panel:
    """Cells of one archive with equal kind of numbers, GPU and further axes."""

    archive: object
    kind: str
    gpu: str
    settings: str
    cells: pd.DataFrame
    read: dict = dataclasses.field(default_factory=dict, repr=False)  # parts of tables, for the next chart

    @property
    def name(self):
        return self.gpu + (f", {self.settings}" if self.settings else "")

    @property
    def variants(self):
        return list(dict.fromkeys(self.cells.variant))

    @property
    def rates(self):
        return list(dict.fromkeys(self.cells.jps))

    @property
    def repeats(self):
        return int(self.cells.groupby(["variant", "jps"], dropna=False).size().max())

    def by_seed(self, variant, rate, metric):
        return self.of(variant, rate).set_index("seed")[metric].dropna()

    def decisions(self, rate, metric):
        """By amount of host memory (NaN: no policy has any): the decision among the policies without a host tier and those with that amount."""
        cells = self.cells[self.cells.jps == rate]
        size_of = {cell.variant: cell.config.get("dram_gib", math.nan) for cell in cells.itertuples()}
        sizes = sorted({size for size in size_of.values() if not math.isnan(size)}) or [math.nan]
        rivals = {size: [v for v in size_of if math.isnan(size_of[v]) or size_of[v] == size] for size in sizes}
        return {size: decide({v: self.by_seed(v, rate, metric) for v in rivals[size]}, metric) for size in sizes}

    def of(self, variant, rate=None):
        chosen = self.cells[self.cells.variant == variant]
        return chosen if rate is None else chosen[chosen.jps == rate]

    def rows(self, table, cells):
        """The concatenated rows of these cells in a table, with the columns that charts need (COLUMNS)."""
        for cell in cells.index:
            if (table, cell) not in self.read:
                self.read[table, cell] = self.archive.table(table, cell, COLUMNS[table])
        parts = [self.read[table, cell] for cell in cells.index]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _settings(row, axes):
    return ", ".join(f"{axis}={row[axis]}" for axis in axes if not pd.isna(row[axis]))


def panels_of(archive):
    """Panels in plan order; cells without results are left out."""
    cells = archive.ok.copy()
    further = [axis for axis in archive.axes if axis not in WITHIN and not axis.startswith("policy.")]
    for axis in [axis for axis in archive.axes if axis.startswith("policy.")]:
        more = [f" ({axis[len('policy.'):]}={value})" if not pd.isna(value) else "" for value in cells[axis]]
        cells["variant"] = cells.variant + more
    cells["settings"] = [_settings(row, further) for _, row in cells.iterrows()]
    return [Panel(archive, kind, gpu, settings, own)
            for (kind, gpu, settings), own in cells.groupby(["kind", "gpu", "settings"], sort=False)]


def fit_line(x, y):
    """Least squares: slope, intercept, R^2, n; NaN if x does not vary."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(x) < 2 or np.ptp(x) == 0:
        return np.nan, np.nan, np.nan, len(x)
    slope, intercept = np.polyfit(x, y, 1)
    r = np.corrcoef(x, y)[0, 1] if np.ptp(y) > 0 else np.nan
    return float(slope), float(intercept), float(r * r), len(x)
