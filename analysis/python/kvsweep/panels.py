"""The cells of archives in panels: what may share a figure or a table."""
import dataclasses

import numpy as np
import pandas as pd

# Keys that tell cells of one panel apart.
WITHIN = {"gpu", "policy", "jps", "dram_gib"}


@dataclasses.dataclass
class Panel:
    """Cells of one archive with equal kind of numbers, GPU and further axes."""

    archive: object
    kind: str
    gpu: str
    settings: str
    cells: pd.DataFrame

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

    def of(self, variant, rate=None):
        chosen = self.cells[self.cells.variant == variant]
        return chosen if rate is None else chosen[chosen.jps == rate]

    def rows(self, table, cells):
        """The rows of these cells in a table, one after the other."""
        parts = [self.archive.table(table, cell) for cell in cells.index]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _settings(row, axes):
    return ", ".join(f"{axis}={row[axis]}" for axis in axes if not pd.isna(row[axis]))


def panels_of(archive):
    """In plan order; cells without results are left out."""
    cells = archive.ok.copy()
    further = [axis for axis in archive.axes if axis not in WITHIN and not axis.startswith("policy.")]
    for axis in [axis for axis in archive.axes if axis.startswith("policy.")]:
        more = [f" ({axis[len('policy.'):]}={value})" if not pd.isna(value) else "" for value in cells[axis]]
        cells["variant"] = cells.variant + more
    cells["settings"] = [_settings(row, further) for _, row in cells.iterrows()]
    return [Panel(archive, kind, gpu, settings, own)
            for (kind, gpu, settings), own in cells.groupby(["kind", "gpu", "settings"], sort=False)]


def fit_line(x, y):
    """Least squares: slope, intercept, R^2, n; NaN where x does not vary."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(x) < 2 or np.ptp(x) == 0:
        return np.nan, np.nan, np.nan, len(x)
    slope, intercept = np.polyfit(x, y, 1)
    r = np.corrcoef(x, y)[0, 1] if np.ptp(y) > 0 else np.nan
    return float(slope), float(intercept), float(r * r), len(x)


def bootstrap_interval(values, seed=42, resamples=10_000):
    """95 % percentile bootstrap interval of the mean; NaN below two values."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return np.nan, np.nan
    means = np.random.default_rng(seed).choice(values, (resamples, len(values))).mean(axis=1)
    return tuple(np.percentile(means, [2.5, 97.5]))
